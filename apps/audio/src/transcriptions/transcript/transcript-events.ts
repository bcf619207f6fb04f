import { dataFrame } from '@gateway/contracts/event-stream/sse-frames';
import { segmentId, type Transcript, type TranscriptFormat } from '@gateway/contracts/openai/transcriptions';

/** Formats that can be streamed: those whose text can come in deltas. */
export const STREAMED_FORMATS: readonly TranscriptFormat[] = ['json', 'text', 'diarized_json'];

/**
 * The events of a transcript that came whole: its text in one delta for each segment, so that the deltas joined are the
 * text, and for `diarized_json` each segment with its speaker. `lead` separates this text from one before it.
 */
export function* deltaFrames(transcript: Transcript, wanted: TranscriptFormat, lead = ''): Generator<string> {
  const text = lead + transcript.text;
  const segments = transcript.segments ?? [];
  let sent = 0;
  for (const [index, segment] of segments.entries()) {
    const id = typeof segment.id === 'string' ? segment.id : segmentId(index);
    const words = segment.text.trim();
    const at = text.indexOf(words, sent);
    // A segment whose words the text has in another form belongs to the next delta.
    const end = at === -1 ? sent : at + words.length;
    const delta = text.slice(sent, index === segments.length - 1 ? text.length : end);
    sent += delta.length;
    const isDiarized = wanted === 'diarized_json';
    if (delta !== '')
      yield dataFrame({ type: 'transcript.text.delta', delta, ...(isDiarized && { segment_id: id }) });
    if (isDiarized) yield dataFrame({ ...segment, type: 'transcript.text.segment', id });
  }
  if (sent < text.length) yield dataFrame({ type: 'transcript.text.delta', delta: text.slice(sent) });
}

/** The last event. The protocol has usage in tokens only here. */
export function doneFrame({ text, usage, languages }: Transcript): string {
  const tokens = usage?.type === 'tokens' ? { usage } : {};
  return dataFrame({
    type: 'transcript.text.done',
    text,
    ...tokens,
    ...(languages !== undefined && { languages }),
  });
}
