import { lookup } from 'node:dns/promises';
import { edgeMark } from '@gateway/service-kit/edge-connection';
import { createIdentitySigner } from '@gateway/service-kit/identity-token';
import type { Started } from '@gateway/service-kit/start-service';
import type { EdgeConfig } from './config.ts';
import { createForwarder } from './forwarder.ts';
import { limitsOf, listenEdge } from './listen-edge.ts';
import { createServicePools } from './service-pools.ts';

/** Opens an edge for services in other processes, and listens. */
export async function openEdge(started: Started<EdgeConfig>): Promise<void> {
  const { config, life, logger } = started;
  const urls = { text: config.TEXT_URL, image: config.IMAGE_URL, audio: config.AUDIO_URL };
  const now = Date.now;
  const { pools } = life.own(await createServicePools({ urls, lookup: addressesOf, now, logger }), (owned) =>
    owned.close(),
  );
  const secret = config.GATEWAY_SECRET;
  await listenEdge(started, createForwarder(pools, limitsOf(started)), {
    sign: createIdentitySigner({ secret, now }),
    mark: edgeMark(secret),
  });
}

async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}
