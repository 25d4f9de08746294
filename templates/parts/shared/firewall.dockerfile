# sbx:begin firewall
COPY --from=${templateOption:initImage} /sbx-init /usr/local/sbin/sbx-init
# sbx:end firewall
