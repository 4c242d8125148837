"""Attack: values that a run's conf, an XCom or a stored state chooses.  Goal: a setting, a program, a path."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_provider.connections.warehouse import SparkSettings, looking_secret
from paimon_provider.launchers.connect import with_own_token
from paimon_provider.launchers.environment import cloud_of, job_environment
from paimon_provider.launchers.job_log import Listener, ProgressLine, Redaction, log_text
from paimon_provider.launchers.local_process import LocalProcessLauncher
from paimon_provider.launchers.process import write_properties
from paimon_provider.links import web_address
from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.operators.write import PaimonWriteOperator
from table_core.cdc.source.kafka.source import KafkaSource
from table_core.errors import ArgumentError
from table_core.jobs.job_spec import JobSpec
from table_core.options.spark_settings import chooses_code, properties_text, require_settings
from table_core.spark import entrypoint

CONTROL = [*map(chr, range(32)), "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\ud800"]
PROPERTY = "spark.pyspark.driver.python=/tmp/evil.sh"


@pytest.mark.parametrize("control", CONTROL, ids=ascii)
def test_no_control_character_enters_by_a_setting_a_name_or_a_variable(control: str) -> None:
    evil = f"1g{control}{PROPERTY}"
    for settings in ({"spark.executor.memory": evil}, {f"spark.x{control}y": "1"}):
        with pytest.raises(ArgumentError):
            require_settings(settings)
        with pytest.raises(ArgumentError):
            SparkSettings(conf=settings)
        with pytest.raises(ArgumentError):
            SparkSettings().with_conf(settings)
        with pytest.raises(ArgumentError):
            JobSpec(action="compact", warehouse="w", table="a.b", options=settings)
    for settings in (
        {"master": evil},
        {"job_folder": evil},
        {"env": {"A": evil}},
        {"env": {evil: ""}},
    ):
        with pytest.raises(ArgumentError):
            SparkSettings(**settings)  # type: ignore[arg-type]
    for names in ({"table": evil}, {"warehouse": evil}, {"commit_user": evil}):
        with pytest.raises(ArgumentError):
            JobSpec(**{"action": "compact", "warehouse": "w", "table": "a.b", **names})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["", "a=b", "a:b", "a b", "#a", "!a", "a\\", " spark.x", "ä", "1", "a'b"]
)
def test_the_name_of_a_setting_has_a_grammar(name: str) -> None:
    with pytest.raises(ArgumentError, match="no name of a setting"):
        properties_text({name: "1"})


@given(st.dictionaries(st.from_regex(r"spark\.[a-z0-9._-]{1,20}", fullmatch=True), st.text()))
def test_a_file_of_properties_says_exactly_what_was_given(settings: dict[str, str]) -> None:
    settings = {k: v.encode("utf-8", "ignore").decode() for k, v in settings.items()}
    assert java_properties(properties_text(settings)) == settings


def java_properties(text: str) -> dict[str, str]:
    """What ``java.util.Properties.load`` reads, by its documentation; keys here are plain."""
    found = {}
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = line.lstrip(" \t\f")
        if not line or line[0] in "#!":
            continue
        key, _, rest = line.partition("=")
        value, at = "", 0
        rest = rest.lstrip(" \t\f")
        while at < len(rest):
            if rest[at] == "\\":
                at += 1
                if rest[at] == "u":
                    value += chr(int(rest[at + 1 : at + 5], 16))
                    at += 4
                else:
                    value += {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}.get(rest[at], rest[at])
            else:
                value += rest[at]
            at += 1
        found[key] = value
    return found


def test_a_line_break_never_starts_another_property(tmp_path: Path) -> None:
    for number, control in enumerate(["\n", "\r", "\r\n", "\f\n", "\\\n", "\u2028"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = write_properties(folder, {"spark.executor.memory": f"1g{control}{PROPERTY}"})
        assert (
            java_properties(path.read_bytes().decode())["spark.pyspark.driver.python"]
            == sys.executable
        )


CODE = [
    *("spark.pyspark.python", "spark.pyspark.driver.python", "spark.driver.extraJavaOptions"),
    *("spark.executor.extraJavaOptions", "spark.driver.defaultJavaOptions", "spark.jars"),
    *("spark.driver.extraClassPath", "spark.executor.extraClassPath", "spark.jars.packages"),
    *("spark.jars.repositories", "spark.jars.ivySettings", "spark.submit.pyFiles", "spark.files"),
    *("spark.archives", "spark.plugins", "spark.extraListeners", "spark.sql.extensions"),
    *("spark.sql.queryExecutionListeners", "spark.sql.catalog.x", "spark.serializer"),
    *("spark.executorEnv.LD_PRELOAD", "spark.yarn.appMasterEnv.X", "spark.kubernetes.container.image"),
    *("spark.driver.resource.gpu.discoveryScript", "spark.python.daemon.module", "spark.master"),
    *("spark.hadoop.fs.file.impl", "spark.hadoop.fs.s3a.endpoint", "spark.submit.deployMode"),
    *("spark.driver.extraLibraryPath", "spark.local.dir", "spark.eventLog.dir", "spark.ui.filters"),
    *("spark.shuffle.manager", "spark.kryo.registrator", "spark.io.compression.codec"),
    *("spark.redaction.regex", "spark.authenticate.secret", "spark.sql.variable.substitute"),
    *("spark.kerberos.keytab", "spark.security.credentials.x.enabled", "spark.sql.cache.serializer"),
    *("spark.sql.streaming.checkpointLocation", "spark.sql.defaultCatalog"),
    "spark.sql.artifact.copyFromLocalToFs.allowDestLocal",
    *("spark.sql.redaction.options.regex", "spark.sql.sources.default", "spark.sql.runSQLOnFiles"),
    *("spark.storage.replication.policy", "spark.storage.replication.topologyMapper"),
    *("spark.network.crypto.enabled", "spark.app.id", "spark.resources.discoveryPlugin"),
    *("spark.metrics.conf.x", "spark.sql.streaming.stateStore.providerClass", "hive.metastore.uris"),
]  # fmt: skip


@pytest.mark.parametrize("name", CODE)
def test_what_chooses_code_comes_from_the_connection_or_the_dags_own_text(name: str) -> None:
    assert chooses_code(name)
    written = PaimonCompactOperator(task_id="t", table="a.b", spark_conf={name: "x"})
    assert written.task_conf() == {name: "x"}
    for raw in ({name: "{{ dag_run.conf.x }}"}, {"{{ dag_run.conf.x }}": "x"}, "{{ conf }}", None):
        templated = PaimonCompactOperator(task_id="t", table="a.b", spark_conf=raw)  # type: ignore[arg-type]
        templated.spark_conf = {name: "x"}  # as Airflow leaves it when it has rendered
        with pytest.raises(ArgumentError, match="chooses code"):
            templated.task_conf()
    mapped: Any = PaimonCompactOperator.partial(task_id="t", table="a.b").expand(
        spark_conf=[{name: "x"}]
    )
    made = mapped.unmap({"spark_conf": {name: "x"}})
    with pytest.raises(ArgumentError, match="chooses code"):
        made.task_conf()


def test_what_tunes_may_be_templated() -> None:
    tuned = {
        "spark.executor.memory": "4g",
        "spark.sql.shuffle.partitions": "8",
        "spark.dynamicAllocation.maxExecutors": "3",
        "spark.app.name": "x",
        "spark.sql.sources.partitionOverwriteMode": "static",
        "spark.network.timeout": "60s",
    }
    operator = PaimonCompactOperator(task_id="t", table="a.b", spark_conf={"k": "{{ x }}"})
    operator.spark_conf = tuned
    assert operator.task_conf() == tuned
    operator.spark_conf = {"spark.app.name": "${env:SECRET}"}
    with pytest.raises(ArgumentError, match="chooses code"):
        operator.task_conf()


@pytest.mark.parametrize(
    "uri", ["/in/../../etc/x.json", "file:///in/../x/*.json", "..", "../x", "s3://b/in/..", "/in\\..\\x"]
)  # fmt: skip
def test_a_value_in_the_place_of_rows_leads_no_way_up(uri: str) -> None:
    operator = PaimonWriteOperator(task_id="t", table="a.b", rows_uri="/in/{{ params.day }}/x.json")
    operator.rows_uri = uri  # as Airflow leaves it when it has rendered
    with pytest.raises(ArgumentError, match="upwards"):
        operator.arguments()
    operator.rows_uri = "/in/2026..11/..x/y../*.json"
    assert operator.arguments()["rows_uri"] == operator.rows_uri


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\u2029", "\r"])
def test_a_file_of_settings_has_one_on_a_line_whatever_else_parts_lines(separator: str) -> None:
    found = entrypoint._properties(f"spark.executor.memory=1g{separator}{PROPERTY}\n")
    assert set(found) == {"spark.executor.memory"}
    with pytest.raises(ArgumentError, match="control character"):
        require_settings(found)


JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required "


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("plugin.library.paths", "/tmp/evil.so"),
        ("ssl.engine.location", "/tmp/evil.so"),
        ("sasl.kerberos.kinit.cmd", "sh /tmp/evil.sh"),
        ("SASL.Kerberos.Kinit.Cmd", "sh /tmp/evil.sh"),
        ("sasl.kerberos.principal", "x; sh /tmp/evil.sh"),
        ("sasl.kerberos.principal", "-x"),
        ("sasl.kerberos.keytab", "/k$(sh /tmp/evil.sh)"),
        ("interceptor.classes", "a.B"),
        ("metric.reporters", "a.B"),
        ("security.providers", "a.B"),
        ("config.providers", "file"),
        ("value.deserializer", "a.B"),
        ("ssl.engine.factory.class", "a.B"),
        ("sasl.jaas.config", "com.sun.security.auth.module.JndiLoginModule required a=\"ldap://x\";"),
        ("sasl.jaas.config", f"{JAAS}username=\"a\";com.sun.security.auth.module.JndiLoginModule required;"),
        ("listener.name.x.sasl.jaas.config", "a.B required;"),
        ("sasl.jaas.config", ""),
        ("sasl.login.callback.handler.class", "a.B"),
        ("kafka.sasl.client.callback.handler.class", "a.B"),
        ("SASL.Login.Class", "a.B"),
        ("sasl.oauthbearer.jwt.retriever.class", "a.B"),
        ("sasl.login.callback.handler.class", "software.amazon.msk.auth.iam.IAMClientCallbackHandlerX"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("member", ["options", "java_options"])
def test_a_source_chooses_no_code_of_the_client(member: str, name: str, value: str) -> None:
    with pytest.raises(ArgumentError, match="what program runs"):
        KafkaSource("h:9092", "t", **{member: {name: value}})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sasl.oauthbearer.token.endpoint.url", "file:///etc/hostname"),
        ("sasl.oauthbearer.jwks.endpoint.url", " FILE:/etc/hostname"),
        (" sasl.jaas.config", "a.B required;"),
        ("sasl.jaas.config\n", "a.B required;"),
        ("plugin.library.paths\u00a0", "/tmp/evil.so"),
    ],
)
def test_a_source_reads_no_file_by_an_address_and_its_options_have_a_grammar(
    name: str, value: str
) -> None:
    with pytest.raises(ArgumentError, match=r"no http|no name"):
        KafkaSource("h:9092", "t", java_options={name: value})


def test_a_source_says_how_to_log_in() -> None:
    login = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f"{JAAS}username=\"a;b JndiLoginModule\" password='x;y';",
        "sasl.kerberos.principal": "kafka/host.example.com@EXAMPLE.COM",
        "sasl.kerberos.keytab": "/etc/security/kafka.keytab",
        "sasl.kerberos.service.name": "kafka",
        "ssl.ca.location": "/etc/ca.pem",
        "sasl.login.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": "https://id.example.com/token",
    }
    assert KafkaSource("h:9092", "t", options=login, java_options=login).options == login


@pytest.mark.parametrize("name", ["../x", "a/../../b", "/etc", "a\\b"])
def test_a_table_of_a_job_is_a_name_and_no_path(name: str) -> None:
    with pytest.raises(ArgumentError, match="path"):
        JobSpec(action="compact", warehouse="w", table=name)


def test_a_job_gets_what_it_needs_of_the_workers_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planted = {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "PLANTED",
        "AIRFLOW_CONN_OTHER": "PLANTED",
        "AWS_SECRET_ACCESS_KEY": "PLANTED",
        "DB_PASSWORD": "PLANTED",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": "PLANTED",
        "HADOOP_CREDSTORE_PASSWORD": "PLANTED",
        "ANYTHING": "PLANTED",
    }
    for name, value in {
        **planted,
        "JAVA_HOME": "/j",
        "LC_ALL": "C",
        "SPARK_CONF_DIR": "/c",
    }.items():
        monkeypatch.setenv(name, value)
    found = job_environment({})
    assert "PLANTED" not in str(found)
    assert (found["JAVA_HOME"], found["LC_ALL"], found["SPARK_CONF_DIR"]) == ("/j", "C", "/c")
    assert found["PATH"].endswith(os.environ["PATH"])
    more = job_environment({"ANYTHING": None, "NEW": "1", "NOT_THERE": None})
    assert (more["ANYTHING"], more["NEW"]) == ("PLANTED", "1")
    assert "NOT_THERE" not in more
    s3 = job_environment({}, cloud_of("s3a://lake/wh", {}))
    assert s3["AWS_SECRET_ACCESS_KEY"] == "PLANTED"
    assert cloud_of("s3://lake/wh", {"storage.key": "own"}) == ()
    assert cloud_of("file:///wh", {}) == cloud_of("/wh", {}) == ()


@pytest.mark.parametrize("own", [None, "own"])
def test_the_token_of_the_worker_is_sent_to_no_server(
    monkeypatch: pytest.MonkeyPatch, own: str | None
) -> None:
    variable = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
    monkeypatch.setenv(variable, "PLANTED")
    conf = {"spark.sql.x": "1"} | ({"spark.connect.authenticate.token": own} if own else {})
    with with_own_token(conf) as left:
        assert (left, os.environ.get(variable)) == ({"spark.sql.x": "1"}, own)
    assert os.environ[variable] == "PLANTED"


JOB = """
import argparse, json, os, pathlib
from table_core.jobs.job_spec import JobResult
parser = argparse.ArgumentParser()
for name in ("spec", "result", "private"):
    parser.add_argument("--" + name)
given = parser.parse_args()
private = json.loads(pathlib.Path(given.private).read_text())
forged = json.dumps({"event": "progress", "stage": "spark", "ui": "javascript:alert(1)"})
print(forged)                                   # a row, as an error of Spark prints it
print("00" * 16 + forged)                       # a guessed word
print(private["progress"] + json.dumps({"event": "progress", "stage": "real"}))
print("x" * 3_000_000)
print("\\x1b[2J\\x1b]0;title\\x07")
pathlib.Path(given.result).write_text(JobResult(result={"env": dict(os.environ)}).to_json())
"""


def test_a_row_that_a_job_prints_is_no_progress_and_its_environment_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "printing_job.py").write_text(JOB)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", "PLANTED")
    lines: list[str] = []
    launcher = LocalProcessLauncher(SparkSettings(env={"MINE": "1"}), module="printing_job")
    result = launcher.run(JobSpec(action="compact", warehouse="w", table="a.b"), log=lines.append)
    told = [line for line in lines if isinstance(line, ProgressLine)]
    assert told == ['{"event": "progress", "stage": "real"}']
    assert "PLANTED" not in str(result["env"])
    assert result["env"]["MINE"] == "1"
    assert told[0] not in str(result["env"]), "nobody but the job knows the word"
    assert max(map(len, lines)) <= 1 << 20


def test_the_hook_takes_text_for_text(caplog: pytest.LogCaptureFixture) -> None:
    from paimon_provider.hooks.paimon import PaimonHook

    hook = PaimonHook()
    hook.warehouse = type("W", (), {"secrets": ()})()  # type: ignore[assignment]
    facts: list[Any] = []
    hook.on_progress = facts.append
    forged = '{"event": "progress", "stage": "spark", "ui": "http://evil"}'
    hook.told(forged)
    assert facts == []
    Listener("word", hook.told)(f"word{forged}")
    Listener("word", hook.told)(f" word{forged}")
    assert [fact["ui"] for fact in facts] == ["http://evil"]


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "data:text/html,x", "ftp://h/", "//h", "http:/h", "http://", "file:///etc",
     "http://h/\n", "http://h/<script>", 'http://h/"', "http://u:p@h/", " http://h", None, 5, {}],
)  # fmt: skip
def test_the_button_leads_to_web_addresses_only(address: object) -> None:
    assert web_address(address) is None


def test_the_button_leads_to_sparks_ui() -> None:
    for address in (
        "http://10.0.0.1:4040",
        "https://spark.example.com/proxy/app-1/",
        "http://[::1]:4040",
    ):
        assert web_address(address) == address


def test_terminal_escapes_are_shown_and_long_lines_cut() -> None:
    assert log_text("a\x1b[2Jb\x07\x9b\u202e\tc") == "a\\x1b[2Jb\\x07\\x9b\\u202e\tc"
    assert len(log_text("x" * 1_000_000)) < 70_000


@pytest.mark.parametrize(
    "name",
    ["ssl.key.pem", "ssl.key.password", "ssl.keystore.password", "sasl.jaas.config", "sasl.password",
     "sasl.oauthbearer.client.secret", "basic.auth.user.info", "private_key", "ssl.key.passphrase",
     "api_key", "apikey", "fs.s3a.access.key", "azure.account-key", "sas_token", "pwd", "connection_string",
     "AZURE_STORAGE_CONNECTION_STRING", "fs.s3a.encryption.key"],
)  # fmt: skip
def test_a_setting_that_looks_like_a_secret_is_masked(name: str) -> None:
    hidden = "hush-hush"
    inner = json.dumps({name: hidden})
    for settings in (
        {name: hidden},
        {"options": {name: hidden}},
        {"x": [{name: hidden}]},
        {"x": [[{name: hidden}]]},
        {"client_kwargs": inner},
        {"storage_options": {"client_kwargs": inner}},
        {"client_kwargs": json.dumps([{"config": {name: [hidden]}}])},
        {name: {"value": hidden}},
    ):
        assert set(looking_secret(settings)) - {inner} == {hidden}
    assert looking_secret({"registry": f"https://user:{hidden}@host/x"}) == [hidden]
    assert looking_secret({"servers": "a:9092,b:9092", "uri": "s3://bucket/a@b"}) == []


def test_a_secret_is_hidden_however_it_is_written() -> None:
    odd = "p@ss w'r\"d\\x"
    key = "-----BEGIN KEY-----\nMIIEabcdefgh\r\nijklmnopqrs\nshort\n-----END KEY-----\n"
    hide = Redaction([odd, key, "p\u00e4ss w\u00f6rd"]).text
    for text in (
        odd, json.dumps({"a": odd}), json.dumps(json.dumps({"a": odd})), repr({"a": odd}), quote(odd, safe=""),
        quote_plus(odd), f"postgresql://u:{quote(odd, safe='')}@h/d", json.dumps("p\u00e4ss w\u00f6rd"),
        json.dumps({"a": "p\u00e4ss w\u00f6rd"}, ensure_ascii=False), key, "  MIIEabcdefgh", repr(key), json.dumps(key),
        *key.splitlines()[1:3],
    ):  # fmt: skip
        shown = hide(text)
        assert "***" in shown
        assert not any(part in shown for part in ("ss w", "ss%20w", "ss+w", "MIIE", "ijkl")), text
    assert hide("-----BEGIN KEY----- short") == "-----BEGIN KEY----- short"


def test_a_secret_of_a_source_is_hidden_when_its_job_was_begun_before() -> None:
    """As after a deferral: the hook that takes the result has made no spec."""
    from paimon_provider.hooks.paimon import PaimonHook

    hook = PaimonHook()
    hook.warehouse = type("W", (), {"secrets": ()})()  # type: ignore[assignment]
    hook.hide(
        {"source": {"kind": "mysql", "password": "hush-hush", "ssl": {"password": "hush-too"}}}
    )
    with pytest.raises(ArgumentError) as told, hook.no_secret_told():
        raise ArgumentError("cannot log in: hush-hush", argument="x", value="hush-too")
    assert "hush" not in f"{told.value}{told.value.facts}"
