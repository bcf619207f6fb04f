import { oncePerOutage } from '@gateway/jobs/once-per-outage';
import { openJobQueue } from '@gateway/model-service/jobs/open-job-queue';
import { openModelAccess } from '@gateway/model-service/open-model-access';
import { serviceAppOptions } from '@gateway/model-service/service-app-options';
import type { Service } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import { createEventFeed } from './background/event-feed.ts';
import type { TextSettings } from './config.ts';
import { createTextService } from './endpoints/app.ts';
import { openBackgroundResponses, openTextServices } from './open-services.ts';

/** Opens the text service; the process's life closes what it takes. */
export async function openTextService(started: Started<TextSettings>): Promise<Service> {
  const { config, life, logger } = started;
  const access = await openModelAccess(started);
  const { queue } = await openJobQueue(started, access, ['text.response']);
  const onError = oncePerOutage((error) => logger.warn({ err: error }, 'the events of background responses'));
  const feed = life.own(createEventFeed({ redisUrl: config.REDIS_URL, onError }), (opened) => opened.close());
  return createTextService({
    ...(await openTextServices(started, access)),
    acceptance: { responses: openBackgroundResponses(started, access), queue, feed },
    keepAliveMs: config.TEXT_KEEP_ALIVE_MS,
    service: serviceAppOptions(started),
  });
}
