# The privacy guard in a container:
#
#   docker build --tag celosia .
#   docker run --rm --volume celosia:/var/lib/celosia celosia \
#       guard init /var/lib/celosia --host 0.0.0.0 --behind-proxy
#   docker run --detach --volume celosia:/var/lib/celosia --volume /srv/registers:/data:ro \
#       --publish 127.0.0.1:8750:8750 celosia
#
# What is installed is what requirements.lock says, hashes checked. It runs as a user who may write one folder: bytecode
# is written here, or every start would compile its libraries again.

FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml requirements.lock ./
RUN python -m venv /usr/local/tools && python -m venv --without-pip /usr/local/celosia \
    && awk '/^[A-Za-z0-9]/ { keep = /^uv==/ } keep' requirements.lock > uv.txt \
    && /usr/local/tools/bin/pip install --no-cache-dir --no-deps --require-hashes -r uv.txt \
    && /usr/local/tools/bin/uv pip install --no-cache --compile-bytecode --python /usr/local/celosia/bin/python --require-hashes \
        -r pyproject.toml --extra guard --extra postgres --constraint requirements.lock
COPY README.md LICENSE ./
COPY src src
RUN awk '/^[A-Za-z0-9]/ { keep = /^(hatchling|packaging|pathspec|pluggy|trove-classifiers)==/ } keep' requirements.lock \
        > hatchling.txt \
    && /usr/local/tools/bin/pip install --no-cache-dir --no-deps --require-hashes -r hatchling.txt \
    && /usr/local/tools/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir wheel . \
    && /usr/local/tools/bin/uv pip install --no-cache --compile-bytecode --no-deps --python /usr/local/celosia/bin/python wheel/*.whl

FROM python:3.12-slim
RUN useradd --system --create-home --home-dir /var/lib/celosia celosia
COPY --from=build /usr/local/celosia /usr/local/celosia
ENV PATH=/usr/local/celosia/bin:$PATH NUMBA_CACHE_DIR=/var/lib/celosia/.numba PYTHONUNBUFFERED=1
USER celosia
WORKDIR /var/lib/celosia
VOLUME /var/lib/celosia
EXPOSE 8750
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["python", "-c", \
    "import urllib.request as u; u.urlopen('http://127.0.0.1:8750/v1/health', timeout=4)"]
ENTRYPOINT ["celosia"]
CMD ["guard", "serve", "--config", "/var/lib/celosia/guard.toml"]
