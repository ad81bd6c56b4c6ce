# trainlaw without a compiler: every dependency has a wheel.
#   docker build -t trainlaw .
#   docker run --rm -v "$PWD:/runs" trainlaw predict --cnn resnet50 --gpu T4 --batch 64
FROM python:3.12-slim
COPY . /source
RUN pip install --no-cache-dir --only-binary :all: "setuptools>=77" wheel \
 && pip install --no-cache-dir --only-binary :all: --no-build-isolation /source \
 && rm -r /source \
 && useradd --create-home runner
USER runner
# Compiled code is part of the image; on a processor of another kind it is compiled again, once per container.
ENV NUMBA_CACHE_DIR=/home/runner/.cache/numba
RUN trainlaw warmup
WORKDIR /runs
ENTRYPOINT ["trainlaw"]
CMD ["--help"]
