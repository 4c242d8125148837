import { App } from "./App";
import { adopt } from "./styles/adopt";
import { AssetLink } from "./work/AssetLink";

/** The names that the plugin registers in Airflow: Airflow takes the components of those names from here. */
const PARTS = { "Paimon tables": App, "Paimon asset": AssetLink };

adopt();
Object.assign(globalThis, PARTS);
