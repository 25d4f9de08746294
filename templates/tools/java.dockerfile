COPY --from=tools-java /opt/java/openjdk /opt/java/openjdk
ENV JAVA_HOME=/opt/java/openjdk
RUN ln -sf /opt/java/openjdk/bin/* /usr/local/bin/
