"""Engines, versions, replicas and environments as files of deployments say them."""

import json

import pytest

from kvaudit.analyzers.engine.yaml_files import read_yaml
from kvaudit.analyzers.examples import OneFile
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.cli import run
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source

RULES = load_rules()

DYNAMO = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
spec:
  services:
    Frontend:
      replicas: 1
      extraPodSpec:
        mainContainer:
          command: [python3]
          args: [-m, dynamo.frontend, --router-mode, round-robin]
    agg:
      envFromSecret: token
      replicas: 4
      extraPodSpec:
        mainContainer:
          image: registry.example/trtllm-runtime:1.0.1
          command: [python3, -m, dynamo.trtllm]
          args: [--model-path, nvidia/M, --extra-engine-args, /config/a.yaml]
---
apiVersion: v1
kind: ConfigMap
data:
  a.yaml: |
    max_num_tokens: 8192
    kv_cache_config:
      dtype: fp8
      enable_block_reuse: false
"""


def found(text, path="deploy.yaml"):
    return [
        (finding.code, finding.severity.value, text[slice(*finding.span)])
        for document in documents_of(Source(path, text), OneFile()) or ()
        for finding in lint_document(document, RULES, Profile())
    ]


def test_a_graph_of_dynamo_and_the_file_in_its_config_map():
    assert sorted(found(DYNAMO)) == [
        ("KV601", "error", "enable_block_reuse: false"),
        ("KV603", "warning", "--router-mode, round-robin"),
    ]


def test_one_replica_may_be_reached_in_turns():
    assert [code for code, *_ in found(DYNAMO.replace("replicas: 4", "replicas: 1"))] == ["KV601"]


def test_what_a_container_says_is_read_with_its_version_and_environment():
    text = """
services:
  one:
    image: vllm/vllm-openai:v0.9.2
    deploy: {replicas: 2}
    environment: [PYTHONHASHSEED=0, "A=b c"]
    command: ["--model", "m/n", "--block-size=64", "--enable-prefix-caching"]
"""
    run = read_yaml(Source("compose.yaml", text), text).invocations[0]
    assert (run.program, run.version, run.replicas, run.model) == ("vllm", "0.9.2", 2, "m/n")
    assert [(s.name, s.value) for s in run.environment] == [("PYTHONHASHSEED", "0"), ("A", "b c")]
    assert [(s.name, s.value, s.on) for s in run.settings[1:]] == [
        ("block-size", "64", None),
        ("enable-prefix-caching", None, True),
    ]
    assert text[slice(*run.settings[1].span)] == '"--block-size=64"'


def test_what_a_template_passes_under_a_condition_is_not_known():
    template = """
spec:
  containers:
    - name: engine
      command:
        - vllm
        - serve
        - {{ .Values.model | quote }}
        {{- if .Values.cache }}
        - --enable-prefix-caching
        {{- else }}
        - --no-enable-prefix-caching
        {{- end }}
"""
    assert found(template) == []
    always = template.replace("        {{- if .Values.cache }}\n", "").replace(
        "        {{- else }}\n", ""
    )
    assert [code for code, *_ in found(always.replace("        {{- end }}\n", ""))] == ["KV601"]


def test_the_template_of_the_chart_for_ray_passes_no_negative_flag():
    values = """
servingEngineSpec:
  modelSpec:
    - name: a
      repository: vllm/vllm-openai
      modelURL: m/n
      vllmConfig: {maxModelLen: 100}
      raySpec: {enabled: true}
"""
    assert found(values, "values.yaml") == []
    assert [c for c, *_ in found(values.replace("true", "false"), "values.yaml")] == ["KV612"]


def test_documents_of_a_bundle_that_start_nothing_are_passed_over():
    broken = "---\nkind: [unclosed\n---\ncommand: vllm serve m --no-enable-prefix-caching\n"
    assert found(broken) == [("KV601", "error", "--no-enable-prefix-caching")]


def test_where_things_are_compared_a_cache_may_be_off():
    text = "command: vllm serve m --no-enable-prefix-caching\n"
    assert [code for code, *_ in found(text, "k8s/serve.yaml")] == ["KV601"]
    assert found(text, "tests/k8s/serve.yaml") == found(text, "k8s/bench-a.yaml") == []
    assert found(text, "regression-testing/serve.yaml") == []


@pytest.mark.parametrize("said", ["cache mismatch error occurred", "wrong answers with images"])
def test_a_comment_that_says_what_went_wrong_is_a_reason(said):
    text = "command: vllm serve m --no-enable-prefix-caching\n"
    assert [code for code, *_ in found(f"# serves our assistant\n{text}")] == ["KV601"]
    assert found(f"# {said}\n{text}") == []


def test_a_file_that_is_no_yaml_says_so():
    with pytest.raises(Unreadable, match="not YAML"):
        documents_of(Source("a.yaml", "command: [vllm serve m\n"), OneFile())


def test_aliases_of_aliases_end():
    levels = "\n".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}, *a{n}]" for n in range(30))
    text = f"a0: &a0 {{command: vllm serve m --no-enable-prefix-caching}}\n{levels}\n"
    assert [code for code, *_ in found(text)] == ["KV601"]


@pytest.mark.parametrize("case", ["C84"])
def test_a_field_case_is_found_by_its_rule(case, shared_data):
    rows = map(json.loads, (shared_data / "lint_cases.jsonl").read_text("utf-8").splitlines())
    row = next(row for row in rows if row["id"] == case)
    assert row["rules"][0] in {code for code, *_ in found(row["snippet"], row["file"])}


def test_a_variable_that_a_script_sets_once_is_filled_in():
    script = DYNAMO.replace(
        "command: [python3]\n          args: [-m, dynamo.frontend, --router-mode, round-robin]",
        "command: [sh, -c]\n          args:\n            - |\n              export MODE={}\n"
        "              python3 -m dynamo.frontend --router-mode $MODE",
    )
    assert "KV603" in {code for code, *_ in found(script.replace("{}", "round-robin"))}
    assert "KV603" not in {code for code, *_ in found(script.replace("{}", "kv"))}
    assert "KV603" not in {code for code, *_ in found(script.replace("{}", "${A:-round-robin}"))}
    twice = script.replace("{}", "round-robin\n              MODE=kv")
    assert "KV603" not in {code for code, *_ in found(twice)}


ARRAY = "A=(--no-enable-prefix-caching # why\n  --port 1)\n"


@pytest.mark.parametrize(
    ("script", "faults"),
    [
        (ARRAY + 'vllm serve m "${A[@]}"\n', 1),
        (ARRAY + "vllm serve m\n", 0),
        (ARRAY + 'A+=(--enable-prefix-caching)\nvllm serve m "${A[@]}"\n', 0),
        ('C=(vllm serve m\n  --no-enable-prefix-caching)\n"${C[@]}" &\nexec "${C[@]}"\n', 1),
        ("if x; then A=(); fi\n" + ARRAY + 'vllm serve m "${A[@]}"\n', 0),
    ],
)
def test_an_array_that_a_script_sets_once_is_filled_in(script, faults):
    assert [code for code, *_ in found(script, "serve.sh")].count("KV601") == faults


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("engine.service", "[Service]\nExecStart=/usr/bin/vllm serve m \\\n{}{}\n"),
        ("Dockerfile", "FROM a\nCMD vllm serve m \\\n{}{}\n"),
    ],
)
def test_a_comment_within_a_continued_line_does_not_end_it(name, text):
    flag = "  --no-enable-prefix-caching"
    (plain,) = found(text.format("", flag), name)
    (commented,) = found(text.format("  # why \\\n", flag), name)
    assert plain[0] == commented[0] == "KV601"


@pytest.mark.parametrize(
    ("params", "severity"),
    [
        ("{type: redis}", "warning"),
        ("{type: redis, ttl: 60}", "info"),
        ("{type: s3, namespace: a}", "warning"),
        ("{type: redis, namespace: a}", None),
        ("{type: redis, mode: default_off}", None),
    ],
)
def test_a_gateway_says_for_whom_it_keeps_answers(params, severity):
    text = f"litellm_settings:\n  cache: true\n  cache_params: {params}\n"
    told = [(code, level) for code, level, _ in found(text, "proxy.yaml")]
    assert told == ([("KV610", severity)] if severity else [])
    assert not found(text.replace("true", "false"), "proxy.yaml")


def test_a_salt_is_missed_only_where_tenants_are_kept_apart():
    text = (
        'from openai import OpenAI\nclient = OpenAI(base_url="http://vllm:8000/v1")\n\n'
        "def ask(tenant_id, messages):\n"
        "    return client.chat.completions.create(model='m', messages=messages%s)\n"
    )

    def codes(source, profile):
        return {
            finding.code
            for document in documents_of(Source("a.py", source), OneFile())
            for finding in lint_document(document, RULES, profile)
        }

    apart = Profile(isolate_tenants=True)
    assert "KV606" in codes(text % "", apart)
    assert "KV606" not in codes(text % "", Profile())
    assert "KV606" not in codes(text % ", extra_body={'cache_salt': salt}", apart)
    assert "KV606" not in codes((text % "").replace("http://vllm:8000", "https://api.a.com"), apart)


@pytest.mark.parametrize(
    ("version", "flag", "said"),
    [
        ("0.6.3", "--use-v2-block-manager", None),
        ("0.6.4", "--use-v2-block-manager", "without effect since 0.6.4"),
        ("0.9.2", "--use-v2-block-manager", "without effect since 0.6.4"),
        ("0.10.0", "--use-v2-block-manager", "was removed in 0.10.0"),
        ("0.11.0", "--kv-offloading-size 8", "came with 0.11.1"),
        ("0.11.1", "--kv-offloading-size 8", None),
        ("0.7.3", "--num-lookahead-slots 2", None),
        ("0.11.2", "--num-lookahead-slots 2", "without effect since 0.8.0"),
        ("0.12.0", "--num-lookahead-slots 2", "was removed in 0.12.0"),
        ("0.7.3", "--swap-space 8", None),
        ("0.17.0", "--swap-space 8", "without effect since 0.8.0"),
        ("0.18.0", "--swap-space 8", "was removed in 0.18.0"),
        ("0.8.2", "--prefix-caching-hash-algo sha256", "came with 0.8.3"),
        ("0.10.1", "--prefix-caching-hash-algo builtin", None),
        ("0.10.2", "--prefix-caching-hash-algo builtin", "builtin was removed in 0.10.2"),
    ],
)
def test_flags_of_vllm_are_dated_as_its_packages_have_them(version, flag, said):
    text = (
        f"services:\n  a:\n    image: vllm/vllm-openai:v{version}\n    command: --model m {flag}\n"
    )
    told = [
        finding.message
        for document in documents_of(Source("compose.yaml", text), OneFile())
        for finding in lint_document(document, RULES, Profile())
        if finding.code == "KV615"
    ]
    assert bool(told) is (said is not None)
    assert said is None or said in told[0]


def test_a_dockerfile_may_say_behind_its_name_what_it_is_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "FROM vllm/vllm-openai\nCMD vllm serve m \\\n{}  --no-enable-prefix-caching\n"
    silent = "# kvaudit: ignore[prefix-caching-off] measured without\n"
    for name, comment in (("gpu", ""), ("off", silent)):
        (tmp_path / f"Dockerfile.{name}").write_text(text.format(comment))
    assert run(["lint", "--isolated", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [one["path"] for one in report["findings"]] == ["Dockerfile.gpu"]
    assert report["checked"] == 2


SCRIPT = """\
name: serve
envs:
  MODEL: Qwen/Qwen3-8B
{beside}
{key}: {opening}
    vllm serve $MODEL \\
      --no-enable-prefix-caching
"""


@pytest.mark.parametrize(
    ("key", "opening", "beside", "expected"),
    [
        ("commands", "\n  - |", "type: service", ["KV601"]),
        ("run", "|", "resources: {accelerators: H100}", ["KV601"]),
        ("run", "|", "runs-on: ubuntu-latest", []),
    ],
    ids=["dstack", "skypilot", "ci"],
)
def test_scripts_of_dstack_and_skypilot_start_engines(key, opening, beside, expected):
    text = SCRIPT.format(key=key, opening=opening, beside=beside)
    codes = [
        finding.code
        for document in documents_of(Source("serve.yaml", text), OneFile())
        for finding in lint_document(document, RULES, Profile())
    ]
    assert codes == expected


RUNTIME = """
apiVersion: production-stack.vllm.ai/v1alpha1
kind: VLLMRuntime
spec:
  lmCacheConfig:
    enabled: true
    remoteUrl: "lm://cacheserver:80"
    remoteSerde: naive
    cpuOffloadingBufferSize: "15"
  image:
    name: "lmcache/vllm-openai:2025-09-01-v1"
  replicas: 2
"""


@pytest.mark.parametrize(
    ("image", "codes"),
    [
        ("lmcache/vllm-openai:2025-09-01-v1", ["KV604"]),
        ("lmcache/vllm-openai:latest", ["KV604"]),
        ("lmcache/vllm-openai", ["KV604"]),
        ("lmcache/vllm-openai:v0.3.3", ["KV604"]),
        ("lmcache/vllm-openai:v0.3.2", []),
        ("lmcache/vllm-openai:2025-05-05-v1", []),
    ],
)
def test_lmcache_up_to_0_3_2_makes_its_keys_with_sha256(image, codes):
    text = RUNTIME.replace("lmcache/vllm-openai:2025-09-01-v1", image)
    assert [code for code, _, _ in found(text)] == codes


def test_an_old_image_beside_a_newer_one_says_nothing():
    text = RUNTIME + "---\nimage: lmcache/vllm-openai:2025-05-05-v1\n"
    assert [code for code, _, _ in found(text)] == ["KV604"]


@pytest.mark.parametrize(("seed", "codes"), [("0", []), ("random", ["KV604"])])
def test_a_fixed_seed_keeps_the_keys_of_the_builtin_hash(seed, codes):
    environment = f'  env:\n    - name: PYTHONHASHSEED\n      value: "{seed}"\n'
    assert [code for code, _, _ in found(RUNTIME + environment)] == codes


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ('bash -c "cd /w && vllm serve Q/Q3 --no-enable-prefix-caching"', 1),
        ("/bin/sh -lc 'export A=1; exec vllm serve Q/Q3 --no-enable-prefix-caching --port 1'", 1),
        (
            'docker run -e A=0 IMAGE bash -c "ls && vllm serve Q --no-enable-prefix-caching"',
            1,
        ),
        ('srun bash -c "vllm serve Q/Q3" --no-enable-prefix-caching', 0),
        ('bash -c "echo vllm serve" && ls --no-enable-prefix-caching', 0),
        ('bash run.sh -c "vllm serve Q/Q3 --no-enable-prefix-caching"', 0),
    ],
)
def test_what_a_shell_is_given_is_a_script(line, marked):
    script = found(f"#!/bin/bash\n{line}\n", "run.sh")
    assert [text for code, _, text in script if code == "KV601"] == (
        ["--no-enable-prefix-caching"] * marked
    )
    compose = f"services:\n  a:\n    image: x/vllm:1\n    command: >\n      {line}\n"
    if "docker" not in line:
        assert sum(code == "KV601" for code, _, _ in found(compose)) == marked


def test_the_environment_before_a_shell_is_that_of_its_script():
    line = "docker run -e PYTHONHASHSEED={} I bash -c \"vllm serve Q --kv-transfer-config '{}'\" &"
    shared = '{\\"kv_connector\\": \\"MooncakeStoreConnector\\"}'
    for seed, expected in (("0", []), ("random", ["KV602", "KV602"])):
        script = (line.format(seed, shared) + "\n") * 2
        codes = [code for code, _, _ in found("#!/bin/bash\n" + script, "run.sh")]
        assert codes == expected


ENCODER = """#!/bin/bash
vllm serve Q/Q3-VL --gpu-memory-utilization 0.01 --no-enable-prefix-caching \\
  --ec-transfer-config '{"ec_connector": "ECExampleConnector", "ec_role": "ROLE"}'
"""


@pytest.mark.parametrize(
    ("role", "codes"), [("ec_producer", []), ("ec_consumer", ["KV601", "KV609"])]
)
def test_an_encoder_of_images_has_no_prefix(role, codes):
    assert sorted(code for code, _, _ in found(ENCODER.replace("ROLE", role), "run.sh")) == codes


STAGE = """
stage_args:
  - stage_id: 0
    runtime: {devices: "0,1"}
    engine_args:
      model_stage: thinker
      engine_output_type: MADE  # what the next stage is given
      enable_prefix_caching: false
"""


@pytest.mark.parametrize(("made", "codes"), [("latent", []), ("audio", []), ("text", ["KV601"])])
def test_a_stage_that_hands_on_hidden_states_or_sound_keeps_no_prefix(made, codes):
    assert [code for code, *_ in found(STAGE.replace("MADE", made), "omni.yaml")] == codes
