import { App } from "./App";
import { adopt } from "./styles/adopt";

/** The name that the plugin registers in Airflow: Airflow takes the component of that name from here. */
const NAME = "Paimon tables";

adopt();
Reflect.set(globalThis, NAME, App);
