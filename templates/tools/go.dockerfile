COPY --from=tools-go /usr/local/go /usr/local/go
RUN ln -sf /usr/local/go/bin/* /usr/local/bin/
