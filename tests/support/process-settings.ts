import { AdminConfig } from '../../apps/admin/src/config.ts';
import { AudioConfig, AudioWorkerConfig } from '../../apps/audio/src/config.ts';
import { EdgeConfig } from '../../apps/edge/src/config.ts';
import { ImageConfig, ImageWorkerConfig } from '../../apps/image/src/config.ts';
import { RetrievalConfig } from '../../apps/retrieval/src/config.ts';
import { TextConfig, TextWorkerConfig } from '../../apps/text/src/config.ts';
import { TracingSettings } from '../../packages/service-kit/src/tracing/settings.ts';

/** What every process reads that exports traces. */
export const TRACING_VARIABLES = Object.keys(TracingSettings.shape);

/** What each process reads at its start, where it has a process of its own. */
export const PROCESS_SETTINGS = {
  edge: EdgeConfig,
  text: TextConfig,
  'text-worker': TextWorkerConfig,
  image: ImageConfig,
  'image-worker': ImageWorkerConfig,
  audio: AudioConfig,
  'audio-worker': AudioWorkerConfig,
  retrieval: RetrievalConfig,
  admin: AdminConfig,
} as const;
