import { segmentId, type Transcript, type TranscriptFormat } from '@gateway/contracts/openai/transcriptions';

/** Formats that can be streamed: those whose text can come in deltas. */
export const STREAMED_FORMATS: readonly TranscriptFormat[] = ['json', 'text', 'diarized_json'];

const frame = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;

/**
 * The events of a transcript that came whole: its text in one delta for each segment, so that the deltas joined are the
 * text, and for `diarized_json` each segment with its speaker. `lead` stands between this text and one before it.
 */
export function* deltaFrames(transcript: Transcript, wanted: TranscriptFormat, lead = ''): Generator<string> {
  const text = lead + transcript.text;
  const segments = transcript.segments ?? [];
  let told = 0;
  for (const [index, segment] of segments.entries()) {
    const id = typeof segment.id === 'string' ? segment.id : segmentId(index);
    const said = segment.text.trim();
    const at = text.indexOf(said, told);
    // A segment whose words the text has in another form belongs to the next delta.
    const end = at === -1 ? told : at + said.length;
    const delta = text.slice(told, index === segments.length - 1 ? text.length : end);
    told += delta.length;
    const isDiarized = wanted === 'diarized_json';
    if (delta !== '')
      yield frame({ type: 'transcript.text.delta', delta, ...(isDiarized && { segment_id: id }) });
    if (isDiarized) yield frame({ ...segment, type: 'transcript.text.segment', id });
  }
  if (told < text.length) yield frame({ type: 'transcript.text.delta', delta: text.slice(told) });
}

/** The last event. The protocol has usage in tokens only here. */
export function doneFrame({ text, usage, languages }: Transcript): string {
  const tokens = usage?.type === 'tokens' ? { usage } : {};
  return frame({
    type: 'transcript.text.done',
    text,
    ...tokens,
    ...(languages !== undefined && { languages }),
  });
}
