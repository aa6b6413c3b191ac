"""The SLURM script and the Kubernetes manifest beside docs/how-to/farm.md do what one machine can tell of them."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HOW_TO = ROOT / "docs" / "how-to"
STAND_IN = """#!/bin/bash
[ "$(basename "$0")" != trex ] || trap 'echo "given back" >> "$LOG"; exit 0' TERM
echo "$(basename "$0") $RAY_AUTH_MODE $RAY_AUTH_TOKEN $*" >> "$LOG"
case "$(basename "$0")" in
  scontrol) printf 'node-a\\nnode-b\\nnode-c\\nnode-d\\n' ;;
  trex) [ -z "$STAYS" ] || for _ in $(seq 600); do sleep 0.1; done ;;
esac
"""


class Job:
    """The script as SLURM runs it in a job, with stand-ins that write down how they are called."""

    def __init__(self, folder: Path, number: int, nodes: int, stays: bool = False) -> None:
        bin_folder, self.log = folder / "bin", folder / "log"
        bin_folder.mkdir(parents=True)
        self.log.touch()
        for name in ("srun", "scontrol", "ray", "trex"):
            (bin_folder / name).write_text(STAND_IN)
            (bin_folder / name).chmod(0o755)
        (folder / ".venv" / "bin").mkdir(parents=True)
        (folder / ".venv" / "bin" / "activate").touch()
        script = (HOW_TO / "slurm.sh").read_text(encoding="utf-8").replace("/shared/project", str(folder))
        environment = {
            "PATH": f"{bin_folder}:/usr/bin:/bin", "LOG": str(self.log), "SLURM_JOB_ID": str(number),
            "STAYS": "1" if stays else "",
            "SLURM_CPUS_PER_TASK": "32", "SLURM_JOB_NUM_NODES": str(nodes), "SLURM_JOB_NODELIST": "node-[a-d]",
        }  # fmt: skip
        self.process = subprocess.Popen(["bash", "-c", script], env=environment)

    def calls(self, name: str) -> list[str]:
        return [line for line in self.log.read_text().splitlines() if line.startswith(f"{name} ")]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    found = Job(tmp_path / "one", 123456, 4)
    assert found.process.wait(60) == 0
    return found


def port_of(job: Job) -> str:
    (port,) = {match for call in job.calls("srun") for match in re.findall(r"--port=(\d+)", call)}
    return port


@pytest.mark.process
def test_every_step_gets_its_cores_the_token_and_the_jobs_own_port(job: Job, tmp_path: Path) -> None:
    steps = job.calls("srun")
    assert len(steps) == 2 and all("--cpus-per-task=32" in step for step in steps)
    head, others = sorted(steps, key=lambda step: "--head" not in step)
    port = port_of(job)
    assert "-w node-a" in head and f"--address=node-a:{port}" in others and "--nodes=3" in others
    (work,) = job.calls("trex")
    assert f"--address node-a:{port}" in work
    tokens = {tuple(call.split()[1:3]) for name in ("srun", "ray", "trex") for call in job.calls(name)}
    ((mode, token),) = tokens
    assert mode == "token" and len(token) == 64
    other = Job(tmp_path / "two", 123457, 1)
    assert other.process.wait(60) == 0
    assert port_of(other) != port and 1024 < int(port) < 32768
    assert token not in other.log.read_text()
    assert len(other.calls("srun")) == 1  # one node: nobody else to start


@pytest.mark.process
def test_before_the_end_of_its_time_a_job_waits_until_its_queries_are_given_back(tmp_path: Path) -> None:
    job = Job(tmp_path / "one", 1, 1, stays=True)
    while not job.calls("trex"):
        assert job.process.poll() is None
        time.sleep(0.05)
    job.process.send_signal(signal.SIGTERM)
    job.process.wait(60)
    assert "given back" in job.log.read_text()


def containers() -> list[tuple[dict[str, str], dict[str, object]]]:
    """The parameters of Ray and the container of each group of the manifest."""
    yaml = pytest.importorskip("yaml")
    spec = yaml.safe_load((HOW_TO / "kubernetes.yaml").read_text(encoding="utf-8"))["spec"]
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    return [(group["rayStartParams"], group["template"]["spec"]["containers"][0]) for group in groups]


def test_the_probes_need_nothing_that_the_image_lacks() -> None:
    """KubeRay adds its own where one is missing, and those need wget and Ray's dashboard agent."""
    assert "wget" not in (ROOT / "Dockerfile").read_text()
    for parameters, container in containers():
        for name in ("readinessProbe", "livenessProbe"):
            probe = container[name]
            assert isinstance(probe, dict) and set(probe) & {"exec", "httpGet", "grpc"} == set()
            assert str(probe["tcpSocket"]["port"]) in parameters.values()
        names = [item["name"] for item in container["env"]]  # type: ignore[union-attr]
        assert {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN"} <= set(names)


def free_port() -> int:
    with socket.create_server(("", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.mark.process
@pytest.mark.slow
def test_the_probes_find_the_ports_of_ray_open(tmp_path: Path) -> None:
    """Head and worker as the operator starts them, on one machine and with other ports, without a dashboard."""
    pytest.importorskip("ray")
    place = Path("/tmp") / f"trex-{secrets.token_hex(4)}"
    environment = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "HOME": str(tmp_path),
    }
    started: list[subprocess.Popen[bytes]] = []
    ray = shutil.which("ray", path=str(Path(sys.executable).parent)) or "ray"
    try:
        address = ""
        for parameters, container in containers():
            ports = {value: str(free_port()) for value in parameters.values() if value in ("6379", "6380")}
            words = [f"--{name}={ports.get(value, value)}" for name, value in parameters.items()]
            words += [f"--address={address}"] if address else ["--head", f"--temp-dir={place}"]
            words += [
                "--node-ip-address=127.0.0.1",
                "--object-store-memory=80000000",
                "--disable-usage-stats",
                "--block",
            ]
            with (tmp_path / f"log-{len(started)}").open("wb") as log:
                command = [ray, "start", *(word.replace("--num-cpus=16", "--num-cpus=1") for word in words)]
                started.append(
                    subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
                )
            probe = container["readinessProbe"]
            assert isinstance(probe, dict)
            port = ports[str(probe["tcpSocket"]["port"])]
            address = address or f"127.0.0.1:{port}"
            while not answers(int(port)):
                assert started[-1].poll() is None, log.name
                time.sleep(0.2)
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)  # SIGTERM drains a node for half a minute first
            process.wait(60)
        shutil.rmtree(place, ignore_errors=True)


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
