"""Which dialect a model's name points to: repositories, tags and file names, in any case."""

import pytest

from gerbang.parse import dialect_for

NAMES: dict[str | None, str] = {
    "hermes": """
        NousResearch/Hermes-3-Llama-3.1-8B NousResearch/Hermes-2-Pro-Llama-3-8B NousResearch/Hermes-4-70B
        Hermes-3-Llama-3.1-8B.Q4_K_M.gguf hermes3:8b hermes3:70b-llama3.1-q4_K_M Qwen/Qwen2.5-7B-Instruct
        qwen2.5:7b-instruct-q4_K_M qwen2.5-coder:32b Qwen2.5-Coder-7B-Instruct-Q5_K_M.gguf Qwen/QwQ-32B
        qwq:32b Qwen/Qwen3-8B qwen3:8b qwen3:30b-a3b-thinking-2507-q4_K_M Qwen3-235B-A22B-Instruct-2507-FP8
        unsloth/Qwen3-14B-GGUF Qwen/Qwen3-VL-8B-Instruct Qwen/Qwen3-Next-80B-A3B-Instruct RekaAI/reka-edge
        arcee-ai/Trinity-Mini
    """,
    "qwen3_coder": """
        Qwen/Qwen3-Coder-480B-A35B-Instruct Qwen3-Coder-30B-A3B-Instruct-UD-Q4_K_XL.gguf qwen3-coder:30b
        qwen3-coder-next:q4_K_M Qwen/Qwen3-Coder-Next Qwen/Qwen3.5-397B-A17B qwen3.5:27b
        mlx-community/Qwen3.6-35B-A3B-8bit Qwen/Qwen3.8-27B qwen3_coder
        nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 nvidia/Nemotron-3-Super-120B-A12B nemotron-3-nano:30b
        Nanbeige/Nanbeige4-3B-Thinking-2511 XiaomiMiMo/MiMo-V2-Flash
    """,
    "seed_oss": """
        ByteDance-Seed/Seed-OSS-36B-Instruct Seed-OSS-36B-Instruct-Q4_K_M.gguf seed-oss:36b
    """,
    "step3p5": """
        stepfun-ai/Step-3.5-Flash stepfun-ai/Step-3.7 step3.5-flash
    """,
    "step3": """
        stepfun-ai/step3 stepfun-ai/step3-fp8
    """,
    "llama3_json": """
        meta-llama/Llama-3.1-8B-Instruct meta-llama/Meta-Llama-3.1-405B-Instruct-FP8
        meta-llama/Llama-3.3-70B-Instruct Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf llama3.1:8b-instruct-q8_0
        llama3.1 llama3.3:70b llama3.2:11b-vision llama3.2:3b llama3.2:1b-instruct-fp16
    """,
    "pythonic": """
        meta-llama/Llama-3.2-3B-Instruct meta-llama/Llama-3.2-1B-Instruct Llama-3.2-3B-Instruct-Q4_K_M.gguf
        meta-llama/Llama-4-Scout-17B-16E-Instruct llama4:scout llama4:16x17b
        Llama-4-Maverick-17B-128E-Instruct-FP8 Team-ACE/ToolACE-2-Llama-3.1-8B google/gemma-3-27b-it
        gemma3:12b gemma-3-4b-it-q4_0.gguf
    """,
    "gemma4": """
        google/gemma-4-31B-it gemma4:26b gemma-4-E4B-it-Q8_0.gguf
    """,
    "functiongemma": """
        google/functiongemma-270m-it functiongemma
    """,
    "olmo3": """
        allenai/Olmo-3-7B-Instruct olmo-3:7b-instruct Olmo-3.1-32B-Think
    """,
    "lfm2": """
        LiquidAI/LFM2-1.2B LiquidAI/LFM2.5-8B-A1B lfm2.5-thinking:1.2b LFM2-8B-A1B-Q4_K_M.gguf
    """,
    "mistral_json": """
        mistralai/Mistral-7B-Instruct-v0.3 mistral:7b-instruct-v0.3-q4_K_M mistral:7b mistral:latest
        mistral-nemo:12b mistralai/Mistral-Nemo-Instruct-2407 mistralai/Mixtral-8x7B-Instruct-v0.1
        mistralai/Mixtral-8x22B-Instruct-v0.1 mixtral:8x22b mistralai/Mistral-Small-Instruct-2409
        mistral-small:22b-instruct-2409-q4_K_M mistralai/Mistral-Large-Instruct-2407
    """,
    "mistral_args": """
        mistralai/Mistral-Small-3.2-24B-Instruct-2506 mistral-small3.2:24b mistralai/Magistral-Small-2509
        magistral:24b mistralai/Devstral-Small-2507 devstral-small-2:24b devstral-2:123b
        mistralai/Ministral-3-8B-Instruct-2512 ministral-3:14b mistralai/Mistral-Medium-3.5
        mistralai/Mistral-Small-4 Devstral-Small-2-24B-Instruct-2512-Q4_K_M.gguf
    """,
    "deepseek_v3": """
        deepseek-ai/DeepSeek-V3 deepseek-ai/DeepSeek-V3-0324 deepseek-v3:671b deepseek-ai/DeepSeek-R1-0528
        deepseek-r1:671b DeepSeek-R1-0528-UD-IQ1_S-00001-of-00004.gguf deepseek-r1:8b
        deepseek-ai/DeepSeek-R1-Distill-Qwen-7B
    """,
    "deepseek_v31": """
        deepseek-ai/DeepSeek-V3.1 deepseek-v3.1:671b-cloud deepseek-ai/DeepSeek-V3.1-Terminus
    """,
    "deepseek_v32": """
        deepseek-ai/DeepSeek-V3.2 deepseek-ai/DeepSeek-V3.2-Speciale deepseek-v3.2:cloud
    """,
    "deepseek_v4": """
        deepseek-ai/DeepSeek-V4-Flash-0731 deepseek-v4-pro
    """,
    "deepseek_v41": """
        deepseek-ai/DeepSeek-V4.1
    """,
    "kimi_k2": """
        moonshotai/Kimi-K2-Instruct-0905 kimi-k2:1t-cloud moonshotai/Kimi-K2-Thinking
        Kimi-K2.5-UD-Q2_K_XL.gguf kimi_k2.6
    """,
    "kimi_k3": """
        moonshotai/Kimi-K3
    """,
    "glm45": """
        zai-org/GLM-4.5-Air GLM-4.6-UD-Q2_K_XL.gguf glm-4.6:cloud zai-org/GLM-4.5V poolside/Laguna-XS.2
        inclusionAI/Ling-3.0-flash iflytek/Spark-2.5 IQuestLab/IQuest-Q1 LLM360/K2-Horizon
    """,
    "glm47": """
        zai-org/GLM-4.7 GLM-4.7-Flash-Q4_K_M.gguf glm-4.7-flash:q8_0 zai-org/GLM-5.1-FP8 glm-5:cloud
    """,
    "hunyuan_a13b": """
        tencent/Hunyuan-A13B-Instruct
    """,
    "hunyuan_v3": """
        tencent/Hy3-preview tencent/Hunyuan-3
    """,
    "minimax_m1": """
        MiniMaxAI/MiniMax-M1-80k
    """,
    "minimax_m2": """
        MiniMaxAI/MiniMax-M2.5 minimax-m2:cloud MiniMax-M2.1-UD-TQ1_0.gguf
    """,
    "minimax_m3": """
        MiniMaxAI/MiniMax-M3
    """,
    "granite": """
        ibm-granite/granite-3.3-8b-instruct granite3.3:8b granite3-dense:8b granite3.1-moe:3b
    """,
    "granite4": """
        ibm-granite/granite-4.0-h-small granite4:micro-h granite4:3b granite-4.0-h-tiny-Q4_K_M.gguf
    """,
    "granite_20b_fc": """
        ibm-granite/granite-20b-functioncalling
    """,
    "phi4_mini": """
        microsoft/Phi-4-mini-instruct phi4-mini:3.8b Phi-4-mini-instruct-Q4_K_M.gguf
        fireworks-ai/llama-3-firefunction-v2 firefunction-v2:70b
    """,
    "internlm": """
        internlm/internlm2_5-7b-chat internlm2:7b internlm/Intern-S1
    """,
    "jamba": """
        ai21labs/AI21-Jamba-1.5-Mini AI21-Jamba-Large-1.6
    """,
    "xlam": """
        Salesforce/Llama-xLAM-2-8b-fc-r Salesforce/xLAM-2-32b-fc-r llama-xlam-2-8b-fc-r-q4_k_m.gguf
    """,
    "harmony": """
        openai/gpt-oss-20b gpt-oss:120b gpt-oss-20b-MXFP4.gguf llm-jp/llm-jp-4.1-32b
    """,
    "cohere": """
        CohereLabs/c4ai-command-r7b-12-2024 command-r7b:7b command-a:111b command-r-plus:104b
        CohereLabs/c4ai-command-a-03-2025 CohereLabs/command-a-reasoning-08-2025
    """,
    "ernie45": """
        baidu/ERNIE-4.5-21B-A3B-Thinking ERNIE-4.5-21B-A3B-Thinking-Q8_0.gguf
    """,
    "longcat": """
        meituan-longcat/LongCat-Flash-Chat
    """,
    "nemotron_v2": """
        nvidia/NVIDIA-Nemotron-Nano-9B-v2 nvidia/NVIDIA-Nemotron-Nano-12B-v2
    """,
    "apertus": """
        swiss-ai/Apertus-8B-Instruct-2509
    """,
    "gigachat3": """
        ai-sage/GigaChat3-10B-A1.8B ai-sage/GigaChat3.5-702B ai-sage/GigaChat-3-Ultra
    """,
    "functionary_v31": """
        meetkai/functionary-small-v3.1 meetkai/functionary-medium-v3.1
    """,
    "functionary_v32": """
        meetkai/functionary-small-v3.2 functionary-small-v3.2.Q4_0.gguf
    """,
    "minicpm5": """
        openbmb/MiniCPM5-8B minicpm-5:8b
    """,
    "claude_xml": """
        anthropic/claude-sonnet-4.5 rednote-hilab/dots.llm2 upstage/Muse-Glimmer
    """,
    "hyperclovax": """
        naver-hyperclovax/HyperCLOVAX-SEED-Think-14B
    """,
    "plamo3": """
        pfnet/plamo-3-nict-8b
    """,
    "inkling": """
        thinkingmachines/Inkling
    """,
    None: """
        Watt-tool-8B gpt-4o tinyllama:1.1b phi4:14b starling-lm:7b solar:10.7b llama2:7b codellama:13b
        bge-m3 nomic-embed-text deepseek-coder:6.7b qwen2:7b qwen:7b yi:34b wizardlm2 gemma2:9b gemma:7b
        granite-code:8b granite-embedding:278m mathstral:7b
    """,
}
"""Dialect to names of models, parted by white space."""
CASES = [(name, dialect) for dialect, names in NAMES.items() for name in names.split()]


@pytest.mark.parametrize(("name", "dialect"), CASES, ids=[name for name, _ in CASES])
def test_dialect_of_a_name(name: str, dialect: str | None) -> None:
    assert dialect_for(name) == dialect
    assert dialect_for(name.upper()) == dialect
    assert dialect_for(name.lower()) == dialect
