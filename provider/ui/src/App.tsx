import { ListPage } from "./list/ListPage";
import { Boundary } from "./parts/Boundary";
import { Settled } from "./parts/Settled";
import { useView } from "./state/query";
import { TablePage } from "./table/TablePage";
import { WorkPage, type Place } from "./work/WorkPage";

/**
 * The list of tables, or one of them when the address names it.  As a tab of a Dag, a task or a run, where Airflow
 * gives `dagId`, the tables of that.
 */
export function App(place: Partial<Place>) {
  return (
    <div className="pt">
      <Settled>
        {place.dagId ? (
          <Boundary>
            <WorkPage {...place} dagId={place.dagId} />
          </Boundary>
        ) : (
          <Tables />
        )}
      </Settled>
    </div>
  );
}

function Tables() {
  const [view] = useView();
  return (
    <Boundary key={view.table ?? ""}>
      {view.table === null ? <ListPage /> : <TablePage key={view.table} uri={view.table} />}
    </Boundary>
  );
}
