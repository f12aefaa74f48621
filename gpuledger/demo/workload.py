"""The families of the default cluster. Numbers are rates, lengths and sizes of programs; none is a rule's threshold."""

from typing import Final

from gpuledger.demo.families import DAY_S, HOUR_S, MINUTE_S, Family
from gpuledger.demo.labels import Label
from gpuledger.demo.mechanisms.elsewhere import Elsewhere
from gpuledger.demo.mechanisms.serving import Serving
from gpuledger.demo.mechanisms.sessions import Session
from gpuledger.demo.mechanisms.stepping import Stepping, Stops

# fmt: off
H100_JOBS: Final = (
    Family(
        name="pretrain-3b-s{n}", user="hlindqvist", partition="h100", gpus=8, nodes=2, limit_s=20 * HOUR_S,
        per_day=0.62, work_s=15 * HOUR_S, restarts=2, cores_per_gpu=12, mem_gib_per_gpu=120, when="any",
        does=Stepping(compute_s=0.9, exchange_s=0.45, fill=0.78, tensor=0.52, dram=0.42, memory_ratio=0.88,
                      jitter=0.01, load_model_s=240, stops=Stops(every_s=1800, lasts_s=70)),
    ),
    Family(
        name="vit-l16-in22k", user="mferrari", partition="h100", gpus=8, limit_s=36 * HOUR_S, per_day=1.05,
        work_s=13 * HOUR_S, cores_per_gpu=12, mem_gib_per_gpu=96,
        does=Stepping(compute_s=0.31, load_s=0.27, host_s=0.02, exchange_s=0.03, fill=0.66, tensor=0.38,
                      memory_ratio=0.81, stops=Stops(every_s=2700, lasts_s=150, ratio=0.55), label=Label.PAUSES),
    ),
    # Asks for two days, needs five hours.
    Family(
        name="lora-7b-{n}", user="smoreau", partition="h100", gpus=4, limit_s=2 * DAY_S, per_day=6.5, work_s=5 * HOUR_S,
        spread=0.12, cores_per_gpu=10, asks_much=("walltime_oversized",),
        does=Stepping(compute_s=0.52, load_s=0.1, host_s=0.03, exchange_s=0.05, fill=0.71, tensor=0.44, dram=0.4,
                      memory_ratio=0.74, stops=Stops(every_s=3600, lasts_s=45)),
    ),
    # Four GPUs in the request, one in the code.
    Family(
        name="gnn-traffic-{n}", user="pdasgupta", partition="h100", gpus=4, limit_s=12 * HOUR_S, per_day=6,
        work_s=6 * HOUR_S, spread=0.3,
        does=Stepping(compute_s=0.14, load_s=0.12, host_s=0.05, fill=0.44, tensor=0.1, memory_ratio=0.41, jitter=0.06,
                      used_gpus=1, label=Label.SOME_UNUSED),
    ),
    # Now and then the script waits for a dead loader process when all epochs are done.
    Family(
        name="sdxl-finetune", user="ltran", partition="h100", gpus=4, limit_s=DAY_S, per_day=2.8, work_s=5 * HOUR_S,
        does=Stepping(compute_s=0.7, load_s=0.3, host_s=0.04, exchange_s=0.06, fill=0.74, tensor=0.4, dram=0.5,
                      memory_ratio=0.83, sleeps=0.65, sleep_s=7 * HOUR_S),
    ),
    Family(
        name="ppo-quadruped-{n}", user="vpetrov", partition="h100", gpus=2, limit_s=16 * HOUR_S, per_day=1.8,
        work_s=9 * HOUR_S, cores_per_gpu=12, asks_much=("gpu_model_oversized",),
        does=Stepping(compute_s=0.9, host_s=7.5, fill=0.3, tensor=0.05, memory_ratio=0.16, jitter=0.2, cpu_ratio=0.93,
                      label=Label.SLOW_INPUT),
    ),
    Family(
        name="eval-harness", user="jtakeda", partition="h100", limit_s=4 * HOUR_S, per_day=15, work_s=50 * MINUTE_S,
        when="any", does=Stepping(compute_s=0.8, host_s=0.12, fill=0.5, tensor=0.3, dram=0.5, memory_ratio=0.6),
    ),
    Family(
        name="moe-ablation-{n}", user="kbauer", partition="h100", gpus=8, limit_s=18 * HOUR_S, per_day=0.9,
        work_s=7 * HOUR_S, cores_per_gpu=12, fails=0.15,
        does=Stepping(compute_s=0.6, exchange_s=0.3, fill=0.7, tensor=0.4, memory_ratio=0.9, jitter=0.02, stuck=0.4,
                      load_model_s=150),
    ),
    Family(
        name="rlhf-sandbox", user="kbauer", partition="h100", gpus=2, limit_s=14 * HOUR_S, per_day=2, batch=False,
        work_s=11 * HOUR_S, spread=0.2, cancelled=True, fails=0,
        does=Session(think_s=25 * MINUTE_S, cell_s=180, busy=0.85, memory_ratio=0.5),
    ),
    Family(
        name="vllm-70b", user="pokafor", partition="h100", gpus=2, per_day=0.35, work_s=3.5 * DAY_S, spread=0.2,
        cancelled=True, fails=0, program="VLLM::EngineCor",
        does=Serving(peak_per_s=0.0009, night_ratio=0.02, service_s=9, fill=0.35, label=Label.SERVER_QUIET),
    ),
)

A100_JOBS: Final = (
    Family(
        name="md_prod_{n}", user="gjohansen", partition="a100", limit_s=30 * HOUR_S, per_day=12, work_s=15 * HOUR_S,
        cores_per_gpu=6, mem_gib_per_gpu=16, when="any", spread=0.2, program="gmx_mpi",
        does=Stepping(compute_s=0.02, host_s=0.0012, fill=0.85, tensor=0.0, dram=0.2, input_mib=0.2, memory_ratio=0.06,
                      jitter=0.01, load_model_s=15, cpu_ratio=0.7),
    ),
    Family(
        name="downscale-era5", user="ehalvorsen", partition="a100", gpus=4, limit_s=18 * HOUR_S, per_day=3.3,
        work_s=8 * HOUR_S,
        does=Stepping(compute_s=0.42, load_s=0.66, host_s=0.02, exchange_s=0.03, fill=0.6, tensor=0.2, memory_ratio=0.7,
                      jitter=0.18, cpu_ratio=0.8, stage_s=5 * MINUTE_S, label=Label.BURSTY),
    ),
    Family(
        name="postproc_cmip", user="nweber", partition="a100", gpus=2, limit_s=20 * HOUR_S, per_day=5.6,
        work_s=8 * HOUR_S, does=Elsewhere(cpu_ratio=0.91, looks=0.4, label=Label.CPU_CODE),
    ),
    Family(
        name="align_reads_{n}", user="ifarouk", partition="a100", limit_s=DAY_S, per_day=6.1, work_s=11 * HOUR_S,
        does=Elsewhere(cpu_ratio=0.11, looks=0.3, label=Label.UNTOUCHED),
    ),
    Family(
        name="tf-density", user="rcastillo", partition="a100", limit_s=16 * HOUR_S, per_day=2.1, work_s=7 * HOUR_S,
        does=Elsewhere(cpu_ratio=0.2, looks=0.9, reserve_ratio=0.92, label=Label.UNTOUCHED),
    ),
    Family(
        name="hpo-segnet", user="awojcik", partition="a100", tasks=24, limit_s=2 * HOUR_S, per_day=1.9,
        work_s=42 * MINUTE_S, spread=0.25, fails=0.05,
        does=Stepping(compute_s=0.2, load_s=0.18, host_s=0.03, fill=0.55, tensor=0.25, memory_ratio=0.55),
    ),
    Family(
        name="bigbatch-test", user="awojcik", partition="a100", gpus=4, limit_s=6 * HOUR_S, per_day=2.6,
        work_s=2 * HOUR_S, runs_out=0.7,
        does=Stepping(compute_s=0.8, load_s=0.2, fill=0.75, tensor=0.4, memory_ratio=0.97, label=Label.HEALTHY),
    ),
    Family(
        name="nerf-city-{n}", user="sbianchi", partition="a100", gpus=2, limit_s=8 * HOUR_S, per_day=5.2,
        work_s=2.6 * HOUR_S, does=Stepping(compute_s=0.11, host_s=0.012, fill=0.6, tensor=0.2, memory_ratio=0.5,
                                           stage_s=65 * MINUTE_S, label=Label.LONG_SETUP),
    ),
    Family(
        name="try", user="awojcik", partition="debug", limit_s=HOUR_S, per_day=19, work_s=4 * MINUTE_S, spread=0.5,
        fails=0.3, does=Stepping(compute_s=0.2, host_s=0.1, memory_ratio=0.4, after_s=3, label=Label.SHORT),
    ),
    Family(
        name="smoke-{n}", user="tmbeki", partition="debug", gpus=2, limit_s=30 * MINUTE_S, per_day=10,
        work_s=3 * MINUTE_S, spread=0.5, fails=0.3,
        does=Stepping(compute_s=0.3, host_s=0.2, memory_ratio=0.5, after_s=3, label=Label.SHORT),
    ),
    Family(
        name="pipeline-unet3d", user="tmbeki", partition="a100", gpus=4, limit_s=20 * HOUR_S, per_day=1.6,
        work_s=8 * HOUR_S, does=Stepping(compute_s=0.6, host_s=0.05, exchange_s=0.04, memory_ratio=0.8,
                                         share=(1.0, 0.7, 0.62, 0.5), stuck=0.25, load_model_s=180),
    ),
    Family(
        name="fold-batch-{n}", user="ychoi", partition="a100", limit_s=6 * HOUR_S, per_day=16, work_s=100 * MINUTE_S,
        when="any", does=Stepping(compute_s=2.2, host_s=0.4, fill=0.5, tensor=0.2, memory_ratio=0.75,
                                  stage_s=4.5 * MINUTE_S, label=Label.STAGED),
    ),
    # Waits for a worker that died, until the limit ends it.
    Family(
        name="md-ensemble", user="dnovak", partition="a100", gpus=4, limit_s=DAY_S, per_day=2.9, work_s=6 * HOUR_S,
        program="pmemd.cuda",
        does=Stepping(compute_s=0.05, host_s=0.004, fill=0.8, tensor=0, input_mib=0.3, memory_ratio=0.09, cpu_ratio=0.5,
                      sleeps=0.75, sleep_s=16 * HOUR_S),
    ),
    Family(
        name="diff-weather-{n}", user="ehalvorsen", partition="a100", gpus=8, limit_s=DAY_S, per_day=0.79,
        work_s=11 * HOUR_S,
        does=Stepping(compute_s=0.5, load_s=0.3, host_s=0.02, exchange_s=0.05, fill=0.72, tensor=0.36,
                      memory_ratio=0.86, stops=Stops(every_s=900, lasts_s=75), label=Label.PAUSES),
    ),
)

L40S_JOBS: Final = (
    *(
        Family(
            name=name, user=user, partition="interactive", limit_s=limit_h * HOUR_S, per_day=per_day,
            work_s=open_h * HOUR_S, spread=0.3, batch=False, cancelled=True, fails=0, cores_per_gpu=4,
            does=Session(think_s=think_s, cell_s=50, memory_ratio=memory),
        )
        for name, user, limit_h, per_day, open_h, think_s, memory in (
            ("jupyter", "rcastillo", 12, 2.0, 10, 1500, 0.3),
            ("jupyter", "ohaddad", 24, 1.9, 20, 2400, 0.55),
            ("jupyterlab", "clefevre", 12, 2.0, 11, 1900, 0.2),
            ("vscode-tunnel", "aosei", 24, 1.9, 22, 2700, 0.15),
            ("vscode-tunnel", "ltran", 24, 1.8, 21, 2100, 0.45),
            ("interactive", "ychoi", 12, 1.5, 9, 1700, 0.35),
            ("rstudio-gpu", "nweber", 24, 1.3, 23, 3600, 0.08),
        )
    ),
    *(
        Family(
            name="course-ml-lab", user=user, partition="interactive", limit_s=4 * HOUR_S, per_day=1.2,
            work_s=5 * HOUR_S, spread=0.4, batch=False, cancelled=True, fails=0, cores_per_gpu=4,
            does=Session(think_s=600, cell_s=40, memory_ratio=0.12),
        )
        for user in ("bkowalski", "fschmid", "zyilmaz", "rnguyen", "tsantos")
    ),
    # One cell after the other, and closed when the work is done, late in the evening too.
    Family(
        name="jupyter", user="mnakagawa", partition="interactive", limit_s=8 * HOUR_S, per_day=5.2, work_s=2.5 * HOUR_S,
        batch=False, cancelled=True, fails=0, cores_per_gpu=4,
        does=Session(think_s=70, cell_s=260, busy=0.85, goes_home=False, label=Label.SESSION_USED),
    ),
    Family(
        name="asr-serve", user="ohaddad", partition="l40s", gpus=2, per_day=0.53, work_s=3.5 * DAY_S, spread=0.1,
        cancelled=True, fails=0, program="tritonserver", does=Serving(peak_per_s=2.4, night_ratio=0.3, service_s=0.42),
    ),
    Family(
        name="render-shots", user="sbianchi", partition="l40s", tasks=20, limit_s=3 * HOUR_S, per_day=2.1,
        work_s=55 * MINUTE_S, spread=0.3, when="any", program="blender",
        does=Stepping(compute_s=20, host_s=1.5, input_mib=900, fill=0.9, tensor=0, memory_ratio=0.3, jitter=0.04),
    ),
    Family(
        name="detr-aerial-{n}", user="awojcik", partition="l40s", gpus=2, limit_s=14 * HOUR_S, per_day=7,
        work_s=6.5 * HOUR_S, does=Stepping(compute_s=0.28, load_s=0.25, host_s=0.03, exchange_s=0.03,
                                           memory_ratio=0.78, stops=Stops(every_s=1500, lasts_s=50)),
    ),
    # One recording after the other: read and cut on the cores, then transcribe.
    Family(
        name="transcribe-{n}", user="clefevre", partition="l40s", limit_s=8 * HOUR_S, per_day=16, work_s=2 * HOUR_S,
        does=Stepping(compute_s=0.9, host_s=0.1, memory_ratio=0.25, stops=Stops(every_s=80, lasts_s=45), cpu_ratio=0.5,
                      label=Label.BURSTY),
    ),
    Family(
        name="frames-cnn", user="aosei", partition="l40s", limit_s=20 * HOUR_S, per_day=6.1, work_s=10 * HOUR_S,
        cores_per_gpu=2, does=Stepping(compute_s=0.09, load_s=0.62, host_s=0.02, input_mib=180, memory_ratio=0.22,
                                       jitter=0.15, cpu_ratio=0.97, label=Label.FEW_CORES),
    ),
    Family(
        name="ensemble-tabular", user="mnakagawa", partition="l40s", gpus=4, limit_s=10 * HOUR_S, per_day=5.5,
        work_s=5.5 * HOUR_S, does=Stepping(compute_s=0.1, load_s=0.05, host_s=0.02, memory_ratio=0.3, used_gpus=2,
                                           bystander_mib=430, label=Label.SOME_UNUSED),
    ),
)

# A family's place in the whole list names its random draws: what is new goes to the end.
LOOK_ALIKES: Final = (
    # A small model on a large GPU.
    Family(
        asks_much=("gpu_model_oversized",), name="bert-tagger-{n}", user="jtakeda", partition="h100",
        limit_s=4 * HOUR_S, per_day=3.2, work_s=2 * HOUR_S,
        does=Stepping(compute_s=0.021, load_s=0.012, host_s=0.011, fill=0.14, tensor=0.04, dram=0.06,
                      memory_ratio=0.07),
    ),
    # Lookups in large tables: few processors at work, memory busy all the time.
    Family(
        name="embed-tables", user="pokafor", partition="h100", limit_s=10 * HOUR_S, per_day=1.6, work_s=5 * HOUR_S,
        does=Stepping(compute_s=0.24, host_s=0.004, fill=0.08, tensor=0.01, dram=0.55, memory_ratio=0.84),
    ),
    # All in registers: memory rests, power does not.
    Family(
        name="lattice-mc-{n}", user="dnovak", partition="a100", limit_s=12 * HOUR_S, per_day=2.4, work_s=6 * HOUR_S,
        program="lattice",
        does=Stepping(compute_s=0.4, host_s=0.002, fill=0.82, tensor=0, dram=0.003, memory_ratio=0.6),
    ),
)

FAMILIES: Final = (*H100_JOBS, *A100_JOBS, *L40S_JOBS, *LOOK_ALIKES)
# fmt: on
