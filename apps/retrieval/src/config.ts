import { FileSettings, ModelServiceSettings } from '@gateway/model-service/settings';
import { setting } from '@gateway/service-kit/config';
import type { z } from 'zod';

const MEBIBYTE = 1024 * 1024;

/** What the retrieval service reads wherever it runs. */
export const RetrievalSettings = ModelServiceSettings.extend(FileSettings.shape).extend({
  JSON_MAX_BYTES: setting.integer(32 * MEBIBYTE, { min: 1 }),
});
export type RetrievalSettings = z.infer<typeof RetrievalSettings>;

/** What it reads as a process of its own. */
export const RetrievalConfig = RetrievalSettings.extend({ RETRIEVAL_PORT: setting.port(8084) });
