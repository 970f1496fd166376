"""A llama.cpp server for the tests: `llama_server.py PATH`. Prints its address, ends with its stdin."""

import os
import sys

import xllamacpp


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.model_alias = {"smollm2"}
    params.n_ctx = 4096
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.offline = True
    params.verbosity = 0
    params.cpuparams.n_threads = 1  # its threads wait by spinning, and tests share the machine
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
