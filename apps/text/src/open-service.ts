import { WEBSOCKET } from '@gateway/contracts/endpoints/endpoints';
import { openJobQueue } from '@gateway/model-service/jobs/open-job-queue';
import { openModelAccess } from '@gateway/model-service/open-model-access';
import { serviceAppOptions } from '@gateway/model-service/service-app-options';
import { serveHandshakes } from '@gateway/service-kit/request/handshake';
import type { Service } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import type { TextSettings } from './config.ts';
import { createTextService } from './endpoints/app.ts';
import { createOpenDraft } from './endpoints/drafts/open-draft.ts';
import { openBatchService } from './open-batches.ts';
import { openBackgroundResponses, openTextServices } from './open-services.ts';
import { openSockets } from './open-sockets.ts';
import type { Sockets } from './sockets/accept-sockets.ts';

/** The text service, and what takes its WebSockets. */
export interface TextService extends Service, Pick<Sockets, 'acceptSocket'> {
  /** For its server in a process of its own. */
  readonly handshakes: ReturnType<typeof serveHandshakes>;
}

/** Opens the text service; the process's life closes what it takes. */
export async function openTextService(started: Started<TextSettings>): Promise<TextService> {
  const { config } = started;
  const access = await openModelAccess(started);
  const { queue, uploads } = await openJobQueue(started, access, ['text.response', 'text.batch']);
  const services = {
    ...(await openTextServices(started, access, { sweeps: true })),
    keepAliveMs: config.TEXT_KEEP_ALIVE_MS,
  };
  const service = serviceAppOptions(started, access);
  const { requestLog, verifyIdentity, load, tracing } = service;
  const { redis, entry, refusals } = access;
  const { acceptSocket } = openSockets(started, {
    services,
    redis,
    entry,
    refusals,
    requestLog,
    load,
    tracing,
  });
  const batches = await openBatchService(started, { access, services, queue, uploads });
  const acceptance = {
    responses: openBackgroundResponses(started, access),
    queue,
    feed: queue.feed,
    uploads,
  };
  const openDraft = createOpenDraft({
    ...{ redis, env: started.env, path: config.GATEWAY_CONFIG },
    gatewaySecret: config.GATEWAY_SECRET,
  });
  return {
    ...createTextService({
      ...services,
      acceptance,
      batches,
      counting: { entry, refusals },
      openDraft,
      service,
    }),
    acceptSocket,
    handshakes: serveHandshakes({ path: WEBSOCKET.path, verifyIdentity, accept: acceptSocket }),
  };
}
