import { lookup } from 'node:dns/promises';
import { edgeMark } from '@gateway/service-kit/identity/edge-connection';
import { createIdentitySigner } from '@gateway/service-kit/identity/identity-token';
import { type Started, startService } from '@gateway/service-kit/start-service';
import { EdgeConfig } from './config.ts';
import { createForwarder } from './forwarding/forwarder.ts';
import { limitsOf, listenEdge } from './listen-edge.ts';
import { createServiceConnections } from './services/service-connections.ts';
import { createServicePools } from './services/service-pools.ts';
import { createTunnels } from './sockets/tunnel.ts';

await startService({ service: 'edge', settings: EdgeConfig, process }, openEdge);

/** Opens an edge for services in other processes, and listens. */
async function openEdge(started: Started<EdgeConfig>): Promise<void> {
  const { config, life, logger, metrics } = started;
  const urls = {
    text: config.TEXT_URL,
    image: config.IMAGE_URL,
    audio: config.AUDIO_URL,
    retrieval: config.RETRIEVAL_URL,
  };
  const uptime = () => performance.now();
  const connections = life.own(createServiceConnections(), (owned) => owned.close());
  const { pools } = life.own(
    await createServicePools({ urls, lookup: addressesOf, uptime, logger, metrics, connections }),
    (owned) => owned.close(),
  );
  const secret = config.GATEWAY_SECRET;
  await listenEdge(started, {
    forwarder: createForwarder(pools, connections, limitsOf(started)),
    openSocket: createTunnels({
      ...{ pools, stopping: life.stopping },
      callerIdleMs: config.EDGE_REPLY_IDLE_TIMEOUT_MS,
    }),
    seal: { sign: createIdentitySigner({ secret, now: Date.now }), mark: edgeMark(secret) },
  });
}

async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}
