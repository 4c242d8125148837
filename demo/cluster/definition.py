"""The services of the cluster: one definition for Compose and for processes.

``services(place)`` says each service's command, environment, ports, health check and needs.  A place
says what differs between a container and a process: hosts, folders, and where a server listens.
``docker-compose.yaml`` is written from it by ``python -m demo.cluster.compose``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from demo.environment import (
    COMPONENTS,
    CONNECTION,
    MIGRATE,
    airflow_settings,
    paimon_connection,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "AIRFLOW_PORT",
    "BUCKET",
    "CONTAINERS",
    "PROJECT_IMAGE",
    "SPARK_PAGE",
    "TOPIC",
    "WAREHOUSE",
    "WORKERS",
    "Place",
    "Service",
    "services",
]

PROJECT_IMAGE = "airflow-provider-paimon"
"""Built from the project's Dockerfile: Airflow and Spark share one Python and its packages."""
POSTGRES = "postgres:16.10@sha256:21f6013073bc6b92830a2129570e2f5ec42a6c734b5a985a41e83aa58f54c3c1"
MARIADB = "mariadb:10.11.16@sha256:4045aba619003d93b5dc834e89e6815ba078d2cb3ff0a26f316ab5d7eab35093"
KAFKA = "apache/kafka:4.1.1@sha256:0bc1bb2478f45b6cea78864df86acdc11e8df2c5172477819a4d12942cbe5d40"
MINIO = (
    "minio/minio:RELEASE.2025-09-07T16-13-09Z"
    "@sha256:14cea493d9a34af32f524e538b8346cf79f3321eff8e708c1e2960462bd8936e"
)
AIRFLOW_PORT = 8080
AIRFLOW_PORTS = {
    "api-server": (AIRFLOW_PORT,),
    "scheduler": (8793,),
    "dag-processor": (),
    "triggerer": (8794,),
}
"""The scheduler and the triggerer serve the logs of the tasks that run beside them."""
SPARK_PAGE = 8081
WORKERS = ("spark-worker-1", "spark-worker-2")
BUCKET = "lake"
WAREHOUSE = f"s3://{BUCKET}/warehouse"
TOPIC = "orders"
KAFKA_ID = "c3RyZWFtaG91c2UtZGVtbw"
"""The id of the Kafka cluster; any 16 bytes in Base64."""
S3_KEY, S3_SECRET = "${S3_KEY:-streamhouse}", "${S3_SECRET:-streamhouse-secret}"
POSTGRES_PASSWORD = "${POSTGRES_PASSWORD:-airflow}"  # a demo's default, reachable from this machine
JWT_SECRET = (
    "${AIRFLOW_JWT_SECRET:-for-a-demo-on-your-own-machine-only-set-another-one-elsewhere-00}"
)
ADMIN_PASSWORD = "${AIRFLOW_ADMIN_PASSWORD:-admin}"


@dataclass(frozen=True, slots=True)
class Place:
    """What differs between containers and processes.

    Args:
        host: of every service; empty: each has its own name as host.
        listen: the address on which servers listen.
        project: folder of this project.
        jars: folder of Kafka's jars.
        python: the Python of Spark's executors.
        folders: where a service keeps its files; by default the path of its image.
    """

    host: str
    listen: str
    project: str
    jars: str
    python: str
    folders: Mapping[str, str] = field(default_factory=dict)

    def of(self, service: str) -> str:
        """The host of a service."""
        return self.host or service

    def folder(self, service: str) -> str:
        """Where a service keeps its files."""
        return self.folders[service]


IMAGE_FOLDERS = {
    "postgres": "/var/lib/postgresql/data",
    "mariadb": "/var/lib/mysql",
    "kafka": "/var/lib/kafka/data",
    "s3": "/data",
    "airflow": "/opt/airflow",
    "streamhouse": "/opt/streamhouse",
    **dict.fromkeys(WORKERS, "/tmp/spark-work"),  # in a container
}
CONTAINERS = Place(
    host="",
    listen="0.0.0.0",  # of a container
    project="/opt/project",
    jars="/opt/kafka/libs",
    python="/usr/local/bin/python",
    folders=IMAGE_FOLDERS,
)


@dataclass(frozen=True, slots=True)
class Service:
    """One server, or one task that ends by itself.

    Args:
        name: also its host in Compose.
        image: with its tag and, if it is not built here, its digest.
        command: the words of its process.
        environment: of that process; ``${NAME:-default}`` is filled in as Compose does.
        ports: on which it listens; each must be free.
        published: those of them that Compose opens on the machine.
        health: command that ends with 0 as soon as the service is well; none for a task.
        needs: service to ``healthy`` or ``done``.
        folder: where it keeps its files, which outlive it.
        mounts: files of the project that a foreign image needs.
        profile: started only if this profile is asked for.
    """

    name: str
    image: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    published: tuple[int, ...] = ()
    health: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    mounts: tuple[str, ...] = ()
    profile: str = ""


def services(place: Place) -> tuple[Service, ...]:
    """All services at ``place``, each after what it needs."""
    return (*_servers(place), *_spark(place), *_airflow(place))


def _servers(place: Place) -> tuple[Service, ...]:
    return (
        Service(
            "postgres",
            POSTGRES,
            ("postgres", "-p", "5432", "-c", f"listen_addresses={place.listen}"),
            {
                "PGDATA": place.folder("postgres"),
                "POSTGRES_USER": "airflow",
                "POSTGRES_PASSWORD": POSTGRES_PASSWORD,
                "POSTGRES_DB": "airflow",
            },
            ports=(5432,),
            health=("pg_isready", "-h", "127.0.0.1", "-p", "5432", "-U", "airflow"),
            folder=place.folder("postgres"),
        ),
        Service(
            "mariadb",
            MARIADB,
            (
                *("mariadbd", f"--datadir={place.folder('mariadb')}", "--port=3306"),
                *(f"--bind-address={place.listen}", "--skip-name-resolve"),
                *("--server-id=1", "--log-bin=binlog", "--binlog-format=ROW"),
                *("--binlog-row-image=FULL", "--binlog-row-metadata=FULL"),
                *("--character-set-server=utf8mb4", "--default-time-zone=+00:00"),
                f"--init-file={place.project}/demo/cluster/shop.sql",
            ),
            {"MARIADB_RANDOM_ROOT_PASSWORD": "1"},
            ports=(3306,),
            health=("mariadb-admin", "--no-defaults", "-h127.0.0.1", "-P3306", "-ucdc", "ping"),
            folder=place.folder("mariadb"),
            mounts=("demo/cluster/shop.sql",),
        ),
        Service(
            "kafka",
            KAFKA,
            ("bash", "-c", _kafka(place)),
            ports=(9092, 9093),
            health=_answers(9092),
            folder=place.folder("kafka"),
            mounts=("demo/cluster/kafka.properties",),
        ),
        Service(
            "s3",
            MINIO,
            (
                *("minio", "server", "--quiet", "--address", f"{place.listen}:9000"),
                *("--console-address", f"{place.listen}:9001", place.folder("s3")),
            ),
            {"MINIO_ROOT_USER": S3_KEY, "MINIO_ROOT_PASSWORD": S3_SECRET},
            ports=(9000, 9001),
            published=(9001,),
            health=_answers(9000),
            folder=place.folder("s3"),
        ),
    )


def _kafka(place: Place) -> str:
    """Format the log folder once, then run the broker; the broker is its own controller."""
    java = f"java -Xmx384m -cp '{place.jars}/*'"
    properties = f"{place.project}/demo/cluster/kafka.properties"
    listeners = f"PLAINTEXT://{place.listen}:9092,CONTROLLER://127.0.0.1:9093"
    return (
        f"cd {place.folder('kafka')} && "
        f"{java} kafka.tools.StorageTool format --ignore-formatted -t {KAFKA_ID} -c {properties} && "
        f"exec {java} kafka.Kafka {properties} --override listeners={listeners}"
        f" --override advertised.listeners=PLAINTEXT://{place.of('kafka')}:9092"
    )


def _answers(port: int) -> tuple[str, ...]:
    """Whether a port is open; of every image bash is the only tool that all have."""
    return ("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}")


def _spark(place: Place) -> tuple[Service, ...]:
    environment = {**_project(place), "SPARK_NO_DAEMONIZE": "1", "SPARK_DAEMON_MEMORY": "256m"}
    main = "org.apache.spark.deploy"
    master = Service(
        "spark-master",
        PROJECT_IMAGE,
        (
            *("spark-class", f"{main}.master.Master", "--host", place.of("spark-master")),
            *("--port", "7077", "--webui-port", str(SPARK_PAGE)),
        ),
        environment,
        ports=(7077, SPARK_PAGE),
        published=(SPARK_PAGE,),
        health=_healthy(f"http://{place.of('spark-master')}:{SPARK_PAGE}/json/"),
    )
    workers = (
        Service(
            name,
            PROJECT_IMAGE,
            (
                *("spark-class", f"{main}.worker.Worker", "--host", place.of(name)),
                *("--cores", "1", "--memory", "1g", "--webui-port", str(page)),
                *("--work-dir", place.folder(name), f"spark://{place.of('spark-master')}:7077"),
            ),
            environment,
            ports=(page,),
            health=_healthy(f"http://{place.of(name)}:{page}/json/"),
            needs={"spark-master": "healthy"},
        )
        for page, name in enumerate(WORKERS, SPARK_PAGE + 1)
    )
    return master, *workers


def _project(place: Place) -> dict[str, str]:
    """What every service of our own image gets: the place of our packages, and one Python for Spark."""
    return {
        "PYTHONPATH": f"{place.project}:{place.project}/provider",
        "PYSPARK_PYTHON": place.python,
        "PYSPARK_DRIVER_PYTHON": place.python,
    }


def _healthy(*words: str) -> tuple[str, ...]:
    return ("python", "-m", "demo.cluster.healthy", *words)


def _airflow(place: Place) -> tuple[Service, ...]:
    environment = _airflow_environment(place)
    api = f"http://{place.of('api-server')}:{AIRFLOW_PORT}"
    init = Service(
        "init",
        PROJECT_IMAGE,
        ("bash", "-c", f"airflow {' '.join(MIGRATE)} && python -m demo.cluster.prepare"),
        {**environment, "AIRFLOW_ADMIN_PASSWORD": ADMIN_PASSWORD},
        needs={"postgres": "healthy", "s3": "healthy", "kafka": "healthy"},
        folder=place.folder("airflow"),
    )
    components = (
        Service(
            name,
            PROJECT_IMAGE,
            ("airflow", name),
            environment,
            ports=AIRFLOW_PORTS[name],
            published=(AIRFLOW_PORT,) if name == COMPONENTS[0] else (),
            health=_healthy(f"{api}/api/v2/monitor/health", name),
            needs={"init": "done"} if name == COMPONENTS[0] else {COMPONENTS[0]: "healthy"},
            folder=place.folder("airflow"),
        )
        for name in COMPONENTS
    )
    everything = (*COMPONENTS, *WORKERS, "mariadb")
    smoke = Service(
        "smoke",
        PROJECT_IMAGE,
        ("python", "-m", "demo.cluster.smoke", api, place.folder("streamhouse")),
        environment,
        needs=dict.fromkeys(everything, "healthy"),
        folder=place.folder("airflow"),
        profile="smoke",
    )
    return init, *components, smoke


def _airflow_environment(place: Place) -> dict[str, str]:
    home = place.folder("airflow")
    database = f"airflow:{POSTGRES_PASSWORD}@{place.of('postgres')}:5432/airflow"
    settings = airflow_settings(
        api_url=f"http://{place.of('api-server')}:{AIRFLOW_PORT}",
        browser_url=f"http://localhost:{AIRFLOW_PORT}",
        dags=f"{place.project}/demo/cluster/dags",
        passwords=f"{home}/passwords.json",
        jwt_secret=JWT_SECRET,
    )
    return {
        **_project(place),
        **settings,
        "AIRFLOW_HOME": home,
        "AIRFLOW__API__HOST": place.listen,
        "AIRFLOW__API__PORT": str(AIRFLOW_PORT),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://{database}",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": f"postgresql+psycopg://{database}",
        CONNECTION: _warehouse(place),
        "AIRFLOW_CONN_SHOP_MARIADB": json.dumps(
            {"conn_type": "mysql", "host": place.of("mariadb"), "port": 3306}
            | {"login": "cdc", "password": "cdc"}
        ),
        "AIRFLOW_CONN_SHOP_KAFKA": json.dumps(
            {"conn_type": "kafka", "host": place.of("kafka"), "port": 9092}
        ),
    }


def _warehouse(place: Place) -> str:
    """The connection: tables on S3, jobs on Spark, whose driver runs beside the task."""
    return paimon_connection(
        warehouse=WAREHOUSE,
        spark_backend="spark-submit",
        spark_master=f"spark://{place.of('spark-master')}:7077",
        spark_conf={
            "spark.driver.host": place.of("scheduler"),
            "spark.driver.bindAddress": place.listen,
            "spark.driver.memory": "600m",
            "spark.executor.memory": "600m",
            "spark.executor.cores": "1",
            "spark.cores.max": "2",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
        },
        storage_options={
            "client_kwargs": {
                "endpoint_url": f"http://{place.of('s3')}:9000",
                "region_name": "us-east-1",
            }
        },
        secrets={"key": S3_KEY, "secret": S3_SECRET},
    )
