import { ListPage } from "./list/ListPage";
import { Boundary } from "./parts/Boundary";
import { useView } from "./state/query";
import { TablePage } from "./table/TablePage";

/** The page: the list of tables, or one of them when the address names it. */
export function App() {
  const [view] = useView();
  return (
    <div className="pt">
      <Boundary key={view.table ?? ""}>
        {view.table === null ? <ListPage /> : <TablePage key={view.table} uri={view.table} />}
      </Boundary>
    </div>
  );
}
