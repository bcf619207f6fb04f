import * as z from 'zod/mini';
import type { Call, FormPart } from '../exchange/call.ts';
import type { AnswerReader } from '../exchange/exchange.ts';
import { ErrorBody, RelayError } from '../exchange/relay.ts';

export const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];
/** The others come whole, also when they are to be streamed. */
export const STREAMED_FORMATS: readonly TranscriptFormat[] = ['json', 'text', 'diarized_json'];

export interface TranscriptionAnswer {
  readonly text: string;
  /** The body, where it says more than its text. */
  readonly json: unknown;
}

export const NO_TRANSCRIPT: TranscriptionAnswer = { text: '', json: null };

/** What a person sets for a transcription; undefined: the model finds out. */
interface TranscriptionSettings {
  readonly model: string;
  readonly file: File;
  readonly language: string | undefined;
  readonly format: TranscriptFormat;
  readonly isStreamed: boolean;
}

export function transcriptionCall(settings: TranscriptionSettings): Call {
  const { model, file, language, format, isStreamed } = settings;
  const parts: FormPart[] = [
    ['file', file],
    ['model', model],
    ['response_format', format],
  ];
  if (language !== undefined) parts.push(['language', language]);
  if (isStreamed && STREAMED_FORMATS.includes(format)) parts.push(['stream', 'true']);
  return { path: '/v1/audio/transcriptions', body: { kind: 'form', parts } };
}

const Whole = z.looseObject({ text: z.string() });

const Event = z.union([
  z.object({ type: z.literal('transcript.text.delta'), delta: z.string() }),
  z.object({ type: z.literal('transcript.text.done'), text: z.string() }),
  ErrorBody,
]);

/** Reads a transcript in any format. @throws {RelayError} for an error within a stream */
export async function readTranscript(
  response: Response,
  reader: AnswerReader<TranscriptionAnswer>,
): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) return readStream(response, reader);
  const body = await response.text();
  reader.note('', body);
  if (!type.startsWith('application/json')) return reader.show({ text: body, json: null }, true);
  const whole = Whole.parse(JSON.parse(body));
  reader.show({ text: whole.text, json: 'segments' in whole ? whole : null }, true);
}

async function readStream(response: Response, reader: AnswerReader<TranscriptionAnswer>): Promise<void> {
  let text = '';
  for await (const { data } of reader.events(response)) {
    if (data === '[DONE]') continue;
    const { data: event } = Event.safeParse(JSON.parse(data));
    if (event === undefined) continue;
    if ('error' in event) {
      const { message, code, type } = event.error;
      throw new RelayError(message, { status: response.status, code: code ?? type ?? null, requestId: null });
    }
    text = event.type === 'transcript.text.done' ? event.text : text + event.delta;
    reader.show({ text, json: null }, true);
  }
}
