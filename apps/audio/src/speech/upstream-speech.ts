import type { SpeechRequest } from '@gateway/contracts/openai/speech';
import { isEventStream } from '@gateway/model-service/stream/is-event-stream';
import type { RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import type { Candidate } from '@gateway/upstream/catalog';
import type { Reply } from '@gateway/upstream/reply';
import { AudioAsEvents, EventsAsAudio } from './converted-speech.ts';
import type { StreamFormat } from './speech-candidates.ts';
import { audioStream, speechEventStream } from './speech-stream.ts';

type MakeStream = (onDone: (event: string) => void) => RelayedStream;

/** What the caller wants, by what the upstream answers with. */
const SPEECH_STREAMS: Readonly<Record<StreamFormat, Readonly<Record<StreamFormat, MakeStream>>>> = {
  audio: { audio: audioStream, sse: (onDone) => new EventsAsAudio(onDone) },
  sse: { audio: () => new AudioAsEvents(), sse: speechEventStream },
};

/** Makes of an upstream's answer what its caller wants. `onDone` gets the last event, where there are any. */
export const speechStreamOf = (
  { headers }: Pick<Reply, 'headers'>,
  wanted: StreamFormat,
  onDone: (event: string) => void,
): RelayedStream => SPEECH_STREAMS[wanted][isEventStream(headers) ? 'sse' : 'audio'](onDone);

/** The request in the candidate's terms; undefined where it can be sent as it came. */
export function changedSpeech(
  candidate: Pick<Candidate, 'model'>,
  speech: SpeechRequest,
  streamFormat: StreamFormat,
): object | undefined {
  const wanted = speech.stream_format ?? 'audio';
  if (candidate.model === speech.model && streamFormat === wanted) return undefined;
  const { stream_format: asked, ...rest } = speech;
  // A provider that has raw audio only may not know the member.
  const member = streamFormat === 'sse' ? { stream_format: streamFormat } : {};
  const kept = streamFormat === wanted && asked !== undefined ? { stream_format: asked } : member;
  return { ...rest, model: candidate.model, ...kept };
}
