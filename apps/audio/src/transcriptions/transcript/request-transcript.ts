import type { IncomingHttpHeaders } from 'node:http';
import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import type { TranscriptionInput } from '@gateway/contracts/jobs';
import type { Transcript, TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import type { OnAttempt } from '@gateway/model-service/jobs/job-attempts';
import type { Candidate } from '@gateway/upstream/candidate';
import type { DiscardedReply } from '@gateway/upstream/failures/failure';
import { checkMediaReply, type OutputCheck } from '@gateway/upstream/first-output/check-first-output';
import { type Reply, readCounted } from '@gateway/upstream/replies/reply';
import { type MultipartBody, multipartBody } from '@gateway/upstream/requests/multipart-body';
import type { Upstream } from '@gateway/upstream/upstream';
import { type ReceivedTranscript, readTranscript } from '../render/read-transcript.ts';
import { relayDeltas } from './relay-deltas.ts';
import { protocolOf, type TranscriptPlan } from './transcript-plans.ts';

interface AskOptions {
  readonly upstream: Pick<Upstream, 'send'>;
  readonly candidates: readonly Candidate[];
  readonly planOf: (candidate: Candidate) => TranscriptPlan;
  readonly input: Pick<TranscriptionInput, 'file' | 'fields' | 'stream' | 'strict' | 'translates'>;
  /** Where the file lies. */
  readonly path: string;
  readonly signal: AbortSignal;
  readonly trace: RequestTrace | undefined;
  readonly onAttempt: OnAttempt;
  readonly onDiscarded: (reply: DiscardedReply) => void;
}

/**
 * As every reply is checked, but a text under the content type of JSON is a transcript too: no other request is made for it. One that
 * does not stream is waited for, so that another channel is called where it breaks.
 */
const checkTranscript: OutputCheck = (first) => {
  const verdict = checkedStart(first);
  if (verdict === 'accept' && first.ended && first.bytes.length === 0 && !isPlainText(first.headers))
    return { broken: 'the reply is empty' };
  return verdict === 'accept' && !first.ended && !isEventStream(first.headers) ? 'wait-for-end' : verdict;
};

/** Silence has an empty transcript as a text, as JSON and as events it has a frame. */
const isPlainText = ({ 'content-type': type = '' }: IncomingHttpHeaders): boolean =>
  type.startsWith('text/') && !type.startsWith('text/event-stream');

const checkedStart: OutputCheck = (first) => {
  const verdict = checkMediaReply(first);
  const isText = /^\s*[^\s<]/.test(first.bytes.toString('latin1', 0, 128));
  const isJson = first.headers['content-type']?.startsWith('application/json') ?? false;
  return typeof verdict === 'object' && 'broken' in verdict && isJson && isText ? 'accept' : verdict;
};

/** Calls the candidates for the transcript of one file, until one begins to answer. @throws {GatewayError} */
export const requestTranscript = (options: AskOptions): Promise<Reply> => {
  const { upstream, candidates, planOf, input, path, signal, trace, onAttempt, onDiscarded } = options;
  return upstream.send({
    candidates,
    request: (candidate) => {
      const form = upstreamForm({ input, path, model: candidate.model, plan: planOf(candidate) });
      return {
        operation: protocolOf(input),
        method: 'POST',
        headers: { 'content-type': form.contentType },
        strict: input.strict ?? false,
        body: form,
      };
    },
    dialect: 'openai',
    work: 'charged',
    streamed: input.stream,
    holdsStart: true,
    checkOutput: checkTranscript,
    signal,
    trace,
    onAttempt,
    onDiscarded,
  });
};

/** A day of speech is about a million characters; word times multiply that. */
const TRANSCRIPT_MAX_BYTES = 32 * 1024 * 1024;

/** Deltas that nobody listens to are read for the transcript that they make. */
const unheard = () => Promise.resolve();

/** A transcript and the body that it came in; a stream has none. */
export interface WholeTranscript extends ReceivedTranscript {
  readonly body: string;
}

/**
 * Reads a reply to its end. A stream of deltas is relayed to `emit`.
 *
 * @throws {GatewayError} where it breaks, or is no transcript
 */
export async function receiveTranscript(
  reply: Reply,
  {
    requestedFormat,
    emit = unheard,
  }: { requestedFormat: TranscriptFormat; emit?: (...texts: string[]) => Promise<void> },
): Promise<WholeTranscript> {
  return readCounted(reply, async () => {
    if (isEventStream(reply.headers)) {
      const { text, usage } = await relayDeltas(reply, emit);
      const transcript: Transcript = { text, ...(usage && { usage }) };
      return { body: '', formats: [], transcript };
    }
    const body = (await reply.bytes(TRANSCRIPT_MAX_BYTES)).toString();
    return { body, ...readTranscript(body, requestedFormat) };
  });
}

interface UpstreamFormOptions {
  readonly input: Pick<TranscriptionInput, 'file' | 'fields' | 'stream'>;
  /** Where the file lies. */
  readonly path: string;
  /** The model's name at the channel. */
  readonly model: string;
  readonly plan: TranscriptPlan;
}

/** The form for one channel: the caller's parts as they came, with this channel's model and format, and the file last. */
function upstreamForm({ input, path, model, plan }: UpstreamFormOptions): MultipartBody {
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
