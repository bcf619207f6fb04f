import type { JobKind } from '@gateway/contracts/jobs';
import type { SpanAttributes } from '@gateway/contracts/trace/request-trace';
import { JOBS } from '../catalog.ts';
import type { JobEnvelope } from '../job-envelope.ts';

interface SpannedJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly envelope: Pick<JobEnvelope, 'requestId' | 'keyId'> & { readonly batchId?: string | undefined };
}

/** What the spans of a job say, where it is queued and where it is done. */
export const jobAttributes = ({ id, kind, envelope }: SpannedJob): SpanAttributes => ({
  'messaging.system': 'bullmq',
  'messaging.destination.name': JOBS[kind].queue,
  'messaging.message.id': id,
  'gateway.job.id': id,
  'gateway.job.kind': kind,
  'gateway.request.id': envelope.requestId,
  'gateway.key.id': envelope.keyId,
  'gateway.batch.id': envelope.batchId,
});
