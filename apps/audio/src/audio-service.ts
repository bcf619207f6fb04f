import type { AssetStore } from '@gateway/assets/asset-store';
import type { TextChecks } from '@gateway/hooks/text-checks';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { JobQueue } from '@gateway/jobs/queue/job-queue';
import type { ClientSecrets } from '@gateway/metering/keys/client-secret';
import type { ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import type { Meter } from '@gateway/metering/meter/meter';
import type { ContentLog } from '@gateway/model-service/content-log/content-log';
import type { JobMetrics } from '@gateway/model-service/jobs/job-metrics';
import type { Upstream } from '@gateway/upstream/upstream';

/** What the audio service queues. */
export type AudioJobKind = 'audio.transcription' | 'audio.speech' | 'audio.batch';

/** What the audio endpoints work with. */
export interface AudioService {
  readonly upstream: Upstream;
  readonly queue: JobQueue<AudioJobKind>;
  readonly assets: AssetStore;
  readonly uploads: UploadStore;
  readonly meter: Meter;
  readonly checks: TextChecks;
  readonly contentLog: ContentLog;
  readonly jobMetrics: JobMetrics;
  readonly clientSecrets: ClientSecrets;
  readonly jsonMaxBytes: number;
  readonly maxJsonDepth: number;
  readonly fileMaxBytes: number;
  /** See `AUDIO_KEEP_ALIVE_MS`. */
  readonly keepAliveMs: number;
  /** What a key may do when a line of its batch is taken. */
  readonly readIdentity: ReadKeyIdentity;
  /** Unix milliseconds. */
  readonly now: () => number;
}
