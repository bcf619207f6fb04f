import type { SpeechRequest } from '@gateway/contracts/openai/speech';
import { isEventStream } from '@gateway/model-service/stream/event-stream';
import type { RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import type { Candidate } from '@gateway/upstream/candidate';
import { checkFirstOutput, type OutputCheck } from '@gateway/upstream/first-output/check-first-output';
import type { Reply } from '@gateway/upstream/replies/reply';
import { AudioAsEvents, EventsAsAudio } from './converted-speech.ts';
import type { StreamFormat } from './speech-candidates.ts';
import { audioStream, speechEventStream } from './speech-stream.ts';

type MakeStream = (onDone: (event: string) => void) => RelayedStream;

/** What the caller wants, by what the upstream answers with. */
const SPEECH_STREAMS: Readonly<Record<StreamFormat, Readonly<Record<StreamFormat, MakeStream>>>> = {
  audio: { audio: audioStream, sse: (onDone) => new EventsAsAudio(onDone) },
  sse: { audio: () => new AudioAsEvents(), sse: speechEventStream },
};

export const speechStreamFor = (wanted: StreamFormat, reply: Pick<Reply, 'headers'>): MakeStream =>
  SPEECH_STREAMS[wanted][isEventStream(reply.headers) ? 'sse' : 'audio'];

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

/** What calls itself text or JSON is not audio; audio itself often comes under a wrong type. */
const NOT_AUDIO = /^(?:text\/|application\/(?:json|problem|xml))/;
const BROKEN = { broken: 'the reply is no audio' };

/** Finds replies that are no speech before any of it is passed on, so that another channel can be called. */
export const checkAudio: OutputCheck = (first) => {
  const verdict = checkFirstOutput(first);
  if (verdict !== 'accept') return verdict;
  if (first.ended && first.bytes.length === 0) return BROKEN;
  if (isEventStream(first.headers)) return 'accept';
  return NOT_AUDIO.test(first.headers['content-type'] ?? '') ? BROKEN : 'accept';
};
