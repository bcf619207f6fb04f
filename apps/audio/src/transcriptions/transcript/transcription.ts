import type { TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import type { UsageDetail } from '@gateway/contracts/usage-detail';
import type { JobContext } from '@gateway/jobs/job-processor';
import type { OnAttempt } from '@gateway/model-service/jobs/job-attempts';
import type { WholeTranscript } from './request-transcript.ts';
import type { StreamHead } from './stream-message.ts';

/** Of a job that transcribes. */
export interface TranscriptionContext extends Pick<JobContext, 'signal' | 'emit' | 'consumed'> {
  readonly onAttempt: OnAttempt;
}

/** A transcription as it is done, whole or in parts. */
export interface Transcription {
  readonly received: WholeTranscript;
  /** The format in the request to the upstream. */
  readonly requested: TranscriptFormat;
  readonly channel: string;
  readonly attempts: number;
  readonly detail: UsageDetail;
  /** As they are shown at the head of a stream. */
  readonly attemptList: StreamHead['attemptList'];
  readonly dropped: readonly string[];
  /** Files that the recording was cut into; null: it was sent whole. */
  readonly parts: number | null;
  /** Whether what was emitted is the whole stream already. */
  readonly isEmitted: boolean;
  /** As the recording was found to last; null: nobody listened. */
  readonly durationSeconds: number | null;
  /** What the provider bills if it does not report it; null: not known. */
  readonly billedSeconds: number | null;
}
