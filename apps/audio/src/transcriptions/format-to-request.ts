import type { TranscriptFormat } from '@gateway/contracts/openai/transcriptions';

/**
 * What each format can be made from, the best first. Times come from segments only and are never invented, so nothing
 * makes a `verbose_json`, whose segments carry the model's own figures, or a `diarized_json`, which knows the speakers.
 */
const MADE_FROM: Readonly<Record<TranscriptFormat, readonly TranscriptFormat[]>> = {
  json: ['verbose_json', 'diarized_json', 'text'],
  text: ['json', 'verbose_json', 'diarized_json'],
  srt: ['verbose_json', 'diarized_json'],
  vtt: ['verbose_json', 'diarized_json'],
  verbose_json: [],
  diarized_json: [],
};

/** The format to request of an upstream so that the wanted one can be answered; null if there is none. */
export function formatToRequest(
  wanted: TranscriptFormat,
  available: readonly TranscriptFormat[],
): TranscriptFormat | null {
  if (available.includes(wanted)) return wanted;
  return MADE_FROM[wanted].find((format) => available.includes(format)) ?? null;
}
