# One image for every process of the gateway; docker-compose.yml says which one a container runs.

# Can be pinned by its digest: docs/operations.md says how.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS manifests
WORKDIR /gateway
COPY . .
# Only what decides about dependencies, so that the next stage is made again when that changes and not otherwise.
RUN find . -type f ! -name package.json ! -name 'pnpm-*.yaml' ! -name .pnpmfile.cjs -delete

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /gateway
COPY --from=manifests /gateway .
RUN npm install --global "$(node -p "require('./package.json').packageManager")"
RUN CI=true pnpm install --frozen-lockfile --prod --filter-prod '{./apps/*}...' --filter-prod '@gateway/simulator...'

FROM ${NODE_IMAGE} AS console
WORKDIR /gateway
COPY --from=manifests /gateway .
RUN npm install --global "$(node -p "require('./package.json').packageManager")"
RUN CI=true pnpm install --frozen-lockfile --filter @gateway/console --filter @gateway/contracts
COPY tsconfig.base.json .
# What its pages import.
COPY packages/contracts packages/contracts
COPY apps/console apps/console
RUN pnpm --filter @gateway/console build

# The workspace keeps its links: Node runs the packages' .ts files where they really are, and nowhere below node_modules.
FROM ${NODE_IMAGE}
# A large space for young objects: less processor time goes into collecting them.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=32 HOST=0.0.0.0 GATEWAY_DATA_DIR=/data
WORKDIR /gateway
# With it the audio worker splits long recordings: docker compose build --build-arg WITH_FFMPEG=true
ARG WITH_FFMPEG=false
RUN if [ "$WITH_FFMPEG" = true ]; then \
      apt-get update && apt-get install --yes --no-install-recommends ffmpeg && rm -rf /var/lib/apt/lists/*; \
    fi
COPY --from=dependencies /gateway .
COPY apps apps
COPY packages packages
COPY --from=console /gateway/apps/console/dist apps/console/dist
COPY scripts/check-health.sh scripts/
# A volume that is mounted here for the first time takes over the owner.
RUN mkdir /data /text-data /config && chown node:node /data /text-data
USER node
# HEALTH_URL is where this container's process answers. A shell asks: a Node process would cost 50 ms of processor time each time.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["bash", "/gateway/scripts/check-health.sh"]
CMD ["node", "apps/edge/src/main.ts"]
