import type { TranscriptionInput } from '@gateway/contracts/jobs';
import { type MultipartBody, multipartBody } from '@gateway/upstream/requests/multipart-body';
import type { TranscriptPlan } from './transcript-plans.ts';

interface UpstreamFormOptions {
  readonly input: Pick<TranscriptionInput, 'file' | 'fields' | 'stream'>;
  /** Where the file lies. */
  readonly path: string;
  /** The model's name at the channel. */
  readonly model: string;
  readonly plan: TranscriptPlan;
}

/** The form for one channel: the caller's parts as they came, with this channel's model and format, and the file last. */
export function upstreamForm({ input, path, model, plan }: UpstreamFormOptions): MultipartBody {
  const { fileName, contentType, sizeBytes } = input.file;
  const own: [string, string][] = [
    ['model', model],
    ['response_format', plan.requestedFormat],
  ];
  if (input.stream && plan.streams) own.push(['stream', 'true']);
  return multipartBody([
    ...[...own, ...input.fields].map(([name, value]) => ({ name, value })),
    { name: 'file', path, fileName, contentType, sizeBytes },
  ]);
}
