import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { DEFAULT_SPEECH_FORMAT, type SpeechRequest } from '@gateway/contracts/openai/speech';
import type { RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import type { Candidate } from '@gateway/upstream/candidate';
import { checkFirstOutput, type OutputCheck } from '@gateway/upstream/first-output/check-first-output';
import type { Reply } from '@gateway/upstream/replies/reply';
import { audioTypeOf } from './audio-signature.ts';
import { AudioAsEvents, EventsAsAudio } from './converted-speech.ts';
import { LabelledAudio } from './labelled-audio.ts';
import type { StreamFormat } from './speech-candidates.ts';
import { audioStream, speechEventStream } from './speech-stream.ts';

/** The caller's stream, and the content type that it is found to have when its first bytes come out. */
export interface SpeechStream {
  readonly stream: RelayedStream;
  contentType(): string;
}

export const EVENT_STREAM_TYPE = 'text/event-stream; charset=utf-8';

type MakeStream = (onDone: (event: string) => void) => RelayedStream;

/** What the caller wants, by what the upstream answers with. */
const SPEECH_STREAMS: Readonly<Record<StreamFormat, Readonly<Record<StreamFormat, MakeStream>>>> = {
  audio: { audio: audioStream, sse: (onDone) => new EventsAsAudio(onDone) },
  sse: { audio: () => new AudioAsEvents(), sse: speechEventStream },
};

/** `onDone` gets the data of the upstream's last event. */
export function speechStreamFor(
  {
    response_format: format,
    stream_format: wanted,
  }: Pick<SpeechRequest, 'response_format' | 'stream_format'>,
  { headers }: Pick<Reply, 'headers'>,
  onDone: (event: string) => void,
): SpeechStream {
  const source = isEventStream(headers) ? 'sse' : 'audio';
  const stream = SPEECH_STREAMS[wanted ?? 'audio'][source](onDone);
  if (wanted === 'sse') return { stream, contentType: () => EVENT_STREAM_TYPE };
  const providerType = source === 'audio' ? headers['content-type'] : undefined;
  const audio = new LabelledAudio(stream, { format: format ?? DEFAULT_SPEECH_FORMAT, providerType });
  return { stream: audio, contentType: () => audio.contentType };
}

/** A request for speech as a candidate gets it that streams in this way. */
export function inStreamFormat(
  speech: SpeechRequest,
  { model }: Pick<Candidate, 'model'>,
  streamFormat: StreamFormat,
): Record<string, unknown> {
  const { stream_format: requested, ...rest } = speech;
  // A provider that has raw audio only may not know the member.
  const member = streamFormat === 'sse' ? { stream_format: streamFormat } : {};
  const isKept = streamFormat === (requested ?? 'audio') && requested !== undefined;
  return { ...rest, model, ...(isKept ? { stream_format: requested } : member) };
}

/** What calls itself text or JSON, and does not begin as audio does. */
const NOT_AUDIO = /^(?:text\/|application\/(?:json|problem|xml))/;
const BROKEN = { broken: 'the reply is no audio' };

const LOOKED_AT_BYTES = 64;
/** An object with a member of words, or its begin. Samples do not look like that. */
const JSON_BODY = /^\s*\{\s*(?:"(?:[a-z_]*$|[a-z_]+"\s*:)|$)/i;
const PAGE = /^\s*<(?:!doctype|html)/i;

/** Finds replies that are no speech before any of it is passed on, so that another channel can be called. Types are hints. */
export const checkAudio: OutputCheck = (first) => {
  const known = first.bytes.length > 0 ? audioTypeOf(first.bytes) : null;
  if (known !== null && known !== 'undecided') return 'accept';
  const start = first.bytes.toString('latin1', 0, LOOKED_AT_BYTES);
  if (PAGE.test(start)) return BROKEN;
  if (JSON_BODY.test(start) && !isEventStream(first.headers)) {
    const verdict = checkFirstOutput({
      ...first,
      headers: { ...first.headers, 'content-type': 'application/json' },
    });
    if (verdict !== 'accept') return verdict;
    return first.ended || first.bytes.length > LOOKED_AT_BYTES ? BROKEN : 'wait';
  }
  const verdict = checkFirstOutput(first);
  if (verdict !== 'accept') return verdict;
  if (first.ended && first.bytes.length === 0) return BROKEN;
  if (isEventStream(first.headers)) return 'accept';
  return NOT_AUDIO.test(first.headers['content-type'] ?? '') ? BROKEN : 'accept';
};
