# The static binary and nothing else. Build it first: make build
FROM scratch
COPY bin/dorisgo /dorisgo
# One image for every role: dorisgo standalone, fe start, be start.
ENTRYPOINT ["/dorisgo"]
CMD ["standalone", "--data-dir", "/data", "--set", "advertise_host=0.0.0.0"]
VOLUME /data
EXPOSE 9030 8030 8040 9010 9011 9020 9060 9061
