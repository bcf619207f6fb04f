import { ModelServiceSettings } from '@gateway/model-service/settings';
import { setting } from '@gateway/service-kit/config';
import type { z } from 'zod';

const DAY_SECONDS = 86_400;

/** What the text service reads wherever it runs. */
export const TextSettings = ModelServiceSettings.extend({
  /** The largest request body, in bytes. */
  TEXT_MAX_BODY_BYTES: setting.integer(32 * 1024 * 1024, { min: 1024 }),
  /** How long the channel of a response is remembered, so that it can be read or continued. */
  TEXT_RESPONSE_TTL_SECONDS: setting.integer(30 * DAY_SECONDS, { min: 1 }),
  /** How often background responses that are due are looked at; also until each is looked at for the first time. */
  TEXT_BACKGROUND_POLL_MS: setting.integer(2000, { min: 10 }),
  /** A background response that has not ended after this time is booked as estimated. */
  TEXT_BACKGROUND_GIVE_UP_SECONDS: setting.integer(DAY_SECONDS, { min: 1 }),
  /** Silence in a stream after which a frame that says nothing is sent; 0 for never. */
  TEXT_KEEP_ALIVE_MS: setting.integer(15_000),
});
export type TextSettings = z.infer<typeof TextSettings>;

/** What it reads as a process of its own. */
export const TextConfig = TextSettings.extend({ TEXT_PORT: setting.port(8081) });
