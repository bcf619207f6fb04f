import type { TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import type { UsageDetail } from '@gateway/contracts/usage/usage-detail';
import type { JobContext } from '@gateway/jobs/worker/job-processor';
import type { OnAttempt } from '@gateway/model-service/jobs/job-attempts';
import type { StreamHead } from '@gateway/model-service/jobs/stream-head';
import type { DiscardedReply } from '@gateway/upstream/failures/failure';
import type { Recording } from '../../metering/transcription-usage.ts';
import type { WholeTranscript } from './request-transcript.ts';

/** The context of a job that transcribes. */
export interface TranscriptionContext extends Pick<JobContext, 'signal' | 'trace' | 'emit' | 'consumed'> {
  readonly onAttempt: OnAttempt;
  /** Called for a reply to this recording, or to a part of it, that turned out to be none. */
  readonly onDiscarded: (recording: Recording, reply: DiscardedReply) => void;
}

/** A transcription as it is done, whole or in parts. */
export interface Transcription {
  readonly received: WholeTranscript;
  /** The format in the request to the upstream. */
  readonly requested: TranscriptFormat;
  readonly channel: string;
  readonly attempts: number;
  readonly detail: UsageDetail;
  /** The attempts, in the form of a stream's first message. */
  readonly attemptList: StreamHead['attemptList'];
  readonly dropped: readonly string[];
  /** Files that the recording was cut into; null: it was sent whole. */
  readonly parts: number | null;
  /** Whether what was emitted is the whole stream already. */
  readonly isEmitted: boolean;
  /** The measured length of the recording; null: not measured. */
  readonly durationSeconds: number | null;
  /** The seconds that the provider bills if it does not report them; null: not known. */
  readonly billedSeconds: number | null;
}
