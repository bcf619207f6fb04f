import { isEventStream } from '@gateway/model-service/stream/event-stream';
import { checkFirstOutput, type OutputCheck } from '@gateway/upstream/first-output/check-first-output';

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
