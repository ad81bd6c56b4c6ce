"""`trainlaw profile`: measure training iterations on this machine, as rows that a study takes."""

from trainlaw.app.commands.profile_options import ProfileOptions
from trainlaw.app.inputs.declared import flag


def profile_command(
    *,
    asked: ProfileOptions,
    host: bool = flag("Measure in seconds how long this host takes to launch a layer's kernels.", "--host"),
) -> None:
    """Measure CNN training iterations on this machine.

    An iteration consists of forward pass, loss, backward pass and parameter update on random images; with
    --forward only the forward pass is measured, in evaluation mode. The CNNs
    are built from trainlaw's layer graphs and run on a CPU or GPU, in one process. Each configuration becomes
    a row of the file. Configurations in the file are not measured again, so an interruption loses only one.
    Needs torch: pip install 'trainlaw[profile]';
    only --host does without.
    """
    from trainlaw.app.commands.profile_jobs import host_text, run_profile

    if host:
        print(host_text())
        return
    try:
        print(run_profile(asked))
    except KeyboardInterrupt:
        kept = f"interrupted; {asked.out} keeps what was measured; the same command continues"
        raise KeyboardInterrupt(kept) from None
