# SPDX-License-Identifier: BSD-3-Clause
"""python -m weft.run and python -m weft."""

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from support import job, main
from weft import run


class Starter(unittest.TestCase):
    def test_each_rank_knows_its_place(self):
        script = "import weft; c = weft.Communicator(); print(c.rank, c.size, weft.Launcher().name)"
        result = job(3, script, runner=["-p"])
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = sorted(result.stdout.splitlines())
        self.assertEqual([line[:8] for line in lines], [f"[{r}] {r} 3 " for r in range(3)])

    def test_two_jobs_at_once_do_not_meet(self):
        script = "import sys, weft; sys.stdout.write('%d\\n' % weft.Communicator().size)"
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(script)
            file.flush()
            command = [sys.executable, "-m", "weft.run"]
            jobs = [
                subprocess.Popen([*command, "-n", n, file.name], stdout=subprocess.PIPE, text=True)
                for n in "23"
            ]
            found = [each.communicate(timeout=60)[0].split() for each in jobs]
        self.assertEqual(found, [["2"] * 2, ["3"] * 3])

    def test_a_second_communicator_joins_as_the_first(self):
        script = """
import weft
for _ in range(2):
    with weft.Communicator() as comm:
        comm.barrier()
print("both")
"""
        result = job(2, script, runner=["-p"])
        lines = sorted(result.stdout.splitlines())
        self.assertEqual(lines, ["[0] both", "[1] both"], result.stderr)

    def test_a_rank_that_fails_ends_the_others(self):
        script = """
import os, sys, time
if os.environ["RANK"] == "1":
    sys.exit(5)
time.sleep(60)
"""
        began = time.monotonic()
        result = job(3, script)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(result.returncode, 5)
        self.assertIn("rank 1 ended with code 5", result.stderr)

    def test_a_rank_that_was_killed_is_the_cause(self):
        # Rank 1 ends when the end of rank 0 was seen.
        script = """
import os, pathlib, signal, sys, time
if os.environ["RANK"] == "0":
    pathlib.Path("%(path)s.new").write_text(str(os.getpid()))
    os.rename("%(path)s.new", "%(path)s")
    sys.exit(3)
while not os.path.exists("%(path)s"):
    time.sleep(0.01)
try:
    while True:
        os.kill(int(pathlib.Path("%(path)s").read_text()), 0)
        time.sleep(0.01)
except ProcessLookupError:
    os.kill(os.getpid(), signal.SIG%(signal)s)
"""
        with tempfile.TemporaryDirectory() as folder:
            result = job(2, script % {"path": folder + "/a", "signal": "KILL"})
            aborted = job(2, script % {"path": folder + "/b", "signal": "ABRT"})
        self.assertEqual(result.returncode, 137, result.stderr)
        self.assertIn("rank 0 ended with code 3; the others are ended\n", result.stderr)
        cause = "the cause is probably rank 1, which ended by signal SIGKILL\n"
        self.assertTrue(result.stderr.endswith(cause), result.stderr)
        self.assertEqual(aborted.returncode, 3, aborted.stderr)
        self.assertNotIn("the cause", aborted.stderr)

    def test_lines_of_errors_are_whole_and_say_their_rank(self):
        script = """
import os, sys
for word in "one", "two", "three":
    os.write(2, word.encode())
    os.write(2, b" ")
os.write(2, b"end\\n50%\\r60%\\rno end")
"""
        found = job(3, script).stderr
        lines = sorted(line for line in re.split("[\r\n]", found) if line)
        wanted = [f"[{r}] {word}" for r in range(3)
                  for word in ("one two three end", "50%", "60%", "no end")]
        self.assertEqual(lines, sorted(wanted))

    def start(self, command, *words, nranks=2, **streams):
        """Starts ranks of a command, whose lines are copied."""
        starter = [sys.executable, "-m", "weft.run", "-n", str(nranks), "-p", *words]
        job = subprocess.Popen([*starter, "sh", "-c", command], **streams)
        self.addCleanup(job.kill)
        return job

    def test_output_that_nobody_takes_ends_the_job(self):
        """Ranks waited for ever for somebody to read what they wrote."""
        for words, stream in (("", "stdout"), (">&2", "stderr")):
            with self.subTest(stream):
                job = self.start(f"yes {words}", **{stream: subprocess.PIPE})
                taken = getattr(job, stream)
                self.assertRegex(taken.readline(), rb"^\[[01]\] y\n")
                taken.close()  # as head(1) does
                self.assertEqual(job.wait(60), 128 + signal.SIGPIPE)
        with open("/dev/full", "wb") as full:
            text = "weft.run: cannot write to standard output: No space left on device"
            # Those of the second job may be running still, or not.
            for command, end in (("yes", "; the ranks are ended"), ("echo much", "(; .*)?")):
                job = self.start(command, stdout=full, stderr=subprocess.PIPE)
                said = job.communicate(timeout=60)[1].decode()
                self.assertRegex(said, f"^{text}{end}\n$")
                self.assertEqual(job.returncode, 1)

    def test_a_slow_reader_gets_all(self):
        """What the pipes did not hold was lost two seconds after the last rank."""
        # More than the pipe of the output holds, and less than that and the pipe of the rank do.
        job = self.start("yes | head -n 50000", nranks=1, stdout=subprocess.PIPE)
        time.sleep(run.GRACE + 1)
        taken = job.communicate(timeout=60)[0]
        self.assertEqual((taken.count(b"[0] y\n"), job.returncode), (50000, 0))

    def test_limits_are_named(self):
        command = f"{shlex.quote(sys.executable)} -m weft.run -n 4 -p sleep 60"
        for limit, text in (
            ("-n 6", r"cannot start its guard: Too many open files \(see ulimit -n\)"),
            ("-n 14", r"cannot start sleep: Too many open files \(see ulimit -n\)"),
        ):
            done = subprocess.run(
                ["sh", "-c", f"ulimit {limit}; exec {command}"],
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertRegex(done.stderr, f"^weft.run: {text}\n$")
            self.assertEqual(done.returncode, 1)

    def test_closed_streams_lead_nowhere(self):
        command = [sys.executable, "-m", "weft.run", "-n", "2", "-p", "echo", "much"]
        done = subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "-", *command], timeout=60)
        self.assertEqual(done.returncode, 0)

    def test_ranks_that_fail_by_themselves_are_named_too(self):
        # The second one ends when the first has written its file, long before it is ended.
        script = """
import os, sys, time
if os.environ["RANK"] == "0":
    print(os.getpid(), file=open(sys.argv[1] + ".new", "w"), flush=True)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    sys.exit(4)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.001)
sys.exit(5)
"""
        with tempfile.TemporaryDirectory() as folder:
            found = job(2, script, f"{folder}/first")
        self.assertIn(found.returncode, (4, 5))
        self.assertIn("ended with code 4", found.stderr)
        self.assertEqual(found.stderr.count("; the others are ended"), 1)

    def test_ctrl_c_reaches_ranks_of_a_starter_in_the_background(self):
        # A shell lets commands in the background ignore it, and ranks inherit that.
        script = """
import os, time
try:
    os.write(1, b"ready\\n")
    time.sleep(60)
except KeyboardInterrupt:
    os.write(1, b"told\\n")
"""
        command = [sys.executable, "-m", "weft.run", "-n", "1", sys.executable, "-c", script]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        ) as starter:
            self.assertEqual(starter.stdout.readline(), "ready\n")
            starter.send_signal(signal.SIGINT)
            self.assertEqual(starter.stdout.readline(), "told\n")
            self.assertEqual(starter.wait(20), 128 + signal.SIGINT)

    def test_a_signal_while_a_rank_is_started_reaches_it(self):
        # The starter gets it when the rank runs, but is not in the starter's list yet.
        starter = """
import os, signal, sys, time
from weft import run

class Slow(run.Job):
    def _begin(self, *arguments):
        process = super()._begin(*arguments)
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        return process

run.Job = Slow
sys.exit(run.main(["-n", "1", sys.executable, "-c", sys.argv[2], sys.argv[1]]))
"""
        rank = """
import os, sys, time
try:
    open(sys.argv[1], "w").close()
    time.sleep(60)
except KeyboardInterrupt:
    os.write(1, b"told\\n")
"""
        with tempfile.TemporaryDirectory() as folder:
            found = subprocess.run(
                [sys.executable, "-c", starter, f"{folder}/ready", rank],
                stdout=subprocess.PIPE, text=True, timeout=60, check=False,
            )
        self.assertEqual(found.stdout, "told\n")
        self.assertEqual(found.returncode, 128 + signal.SIGINT)

    def test_ranks_stop_and_go_on_with_their_starter(self):
        def state(pid):
            with open(f"/proc/{pid}/stat") as stat:
                return stat.read().rpartition(")")[2].split()[0]

        def wait_for(pids, states):
            """Until they are so for a while: others may stop and continue all processes."""
            until, seen = time.monotonic() + 60, 0
            while seen < 10:
                self.assertLess(time.monotonic(), until, [state(pid) for pid in pids])
                seen = seen + 1 if all(state(pid) in states for pid in pids) else 0
                time.sleep(0.02)

        # A group of its own, as shells make them: groups that nobody could continue do not stop.
        job = self.start("echo $$; exec sleep 60", stdout=subprocess.PIPE, preexec_fn=os.setpgrp)
        pids = [job.pid, *(int(job.stdout.readline().split()[1]) for _ in range(2))]
        os.kill(job.pid, signal.SIGTSTP)
        wait_for(pids, "T")
        os.kill(job.pid, signal.SIGCONT)
        wait_for(pids, "SR")
        job.terminate()
        self.assertEqual(job.wait(60), 128 + signal.SIGTERM)
        job.stdout.close()

    def test_a_rank_that_does_not_listen_is_killed(self):
        script = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
if os.environ["RANK"] == "1":
    time.sleep(1)
    sys.exit(1)
time.sleep(60)
"""
        began = time.monotonic()
        self.assertEqual(job(2, script).returncode, 1)
        self.assertLess(time.monotonic() - began, 20)

    def test_no_rank_outlives_a_starter_that_is_killed(self):
        # Nor what a rank has started. The pipe ends when the last of them has ended.
        script = """
import os, subprocess, time
child = subprocess.Popen(["sleep", "60"])
os.write(1, b"ready\\n")
time.sleep(60)
"""
        command = [sys.executable, "-m", "weft.run", "-n", "2", sys.executable, "-c", script]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as starter:
            for _ in range(2):
                self.assertEqual(starter.stdout.readline(), "ready\n")
            began = time.monotonic()
            starter.kill()
            self.assertEqual(starter.stdout.read(), "")
            self.assertLess(time.monotonic() - began, 20)

    def test_ctrl_c_ends_all_ranks(self):
        script = "import time; import os; os.write(1, b'ready\\n'); time.sleep(60)"
        command = [sys.executable, "-m", "weft.run", "-n", "2", sys.executable, "-c", script]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as starter:
            for _ in range(2):
                self.assertEqual(starter.stdout.readline(), "ready\n")
            starter.send_signal(signal.SIGINT)
            self.assertEqual(starter.wait(20), 128 + signal.SIGINT)

    def test_wrong_arguments_say_so(self):
        for arguments, text in (
            ([], "which script"),
            (["-n", "0", "x"], "at least one rank"),
            (["-n", "2", "no-such.py"], "there is no file no-such.py"),
        ):
            result = subprocess.run(
                [sys.executable, "-m", "weft.run", *arguments], capture_output=True, text=True
            )
            self.assertEqual(result.returncode, 2)
            self.assertIn(text, result.stderr)
        result = subprocess.run(
            [sys.executable, "-m", "weft.run", "-n", "1", "/no/such/program"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot start /no/such/program: No such file", result.stderr)
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script")
            with open(script, "w") as file:
                file.write("#!/no/such/interpreter\n")
            os.chmod(script, 0o755)
            result = subprocess.run(
                [sys.executable, "-m", "weft.run", "-n", "1", script],
                capture_output=True,
                text=True,
            )
        self.assertIn("(the interpreter or loader that it names)", result.stderr)

    def test_variables_of_other_launchers_are_not_passed_on(self):
        ours = {"HOME": "/root", "WEFT_LOG_LEVEL": "warn", "GROUP_NAME": "mine"}
        theirs = ("OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PRTE_LAUNCHED", "GROUP_RANK",
                  "JOB_COMPLETION_INDEX", "WEFT_RANK", "WEFT_NRANKS", "WEFT_LOCAL_RANK",
                  "WEFT_UNIQUE_ID")
        found = run.rank_environment(1, 2, "job", 1234, {**ours, **dict.fromkeys(theirs, "7")})
        self.assertEqual({name: found.get(name) for name in ours}, ours)
        self.assertFalse([name for name in theirs if name in found])

    def test_ranks_inside_a_rank_are_a_job_of_their_own(self):
        """Those of `weft run` are stronger than torchrun's: each would be rank 0 of 1."""
        script = "import weft; l = weft.Launcher(); print(l.name, l.rank, l.size)"
        outer = {"WEFT_RANK": "0", "WEFT_NRANKS": "1", "JOB_COMPLETION_INDEX": "5"}
        with unittest.mock.patch.dict(os.environ, outer):
            found = job(2, script, runner=["-p"])
        lines = sorted(found.stdout.splitlines())
        self.assertEqual(lines, ["[0] torchrun 0 2", "[1] torchrun 1 2"], found.stderr)

    def test_an_environment_without_path_will_do(self):
        """An interpreter that was called by its name alone does not know where it is."""
        environment = {name: value for name, value in os.environ.items() if name != "PATH"}
        for command in (["-m", "platform"], ["/bin/echo", "here"]):
            found = subprocess.run(
                ["python3", "-m", "weft.run", "-n", "1", *command],
                executable=sys.executable, env=environment, capture_output=True, text=True,
                timeout=60,
            )
            self.assertEqual((found.returncode, found.stderr), (0, ""))
            self.assertTrue(found.stdout)

    def test_the_package_tells_its_version_library_and_plugins(self):
        result = subprocess.run([sys.executable, "-m", "weft"], capture_output=True, text=True)
        self.assertRegex(result.stdout, r"^weft \d+\.\d+\.\d+\nlibrary: /.*/libweft\.so")
        self.assertIn("net-shm", result.stdout)


if __name__ == "__main__":
    main()
