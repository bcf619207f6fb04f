import { z } from 'zod';
import type { TranscriptionResult, Turn } from '../library.ts';
import { turnsOfWords } from './words.ts';

// Who spoke when, as each provider reports it beside what the libraries have in common.

const ElevenLabsWords = z.object({
  words: z.array(
    z.object({
      text: z.string(),
      start: z.number().nullish(),
      end: z.number().nullish(),
      speaker_id: z.string().nullish(),
    }),
  ),
});

export const elevenLabsTurns = ({ response }: TranscriptionResult): readonly Turn[] =>
  turnsOfWords(
    (ElevenLabsWords.safeParse(response.body).data?.words ?? []).map(
      ({ speaker_id, start, end, text: word }) => ({
        text: word,
        start: start ?? 0,
        end: end ?? 0,
        speaker: speaker_id ?? '',
      }),
    ),
  );

const DeepgramUtterances = z.object({
  results: z.object({
    utterances: z.array(
      z.object({ start: z.number(), end: z.number(), transcript: z.string(), speaker: z.number().nullish() }),
    ),
  }),
});

export const deepgramTurns = ({ response }: TranscriptionResult): readonly Turn[] =>
  turnsOfWords(
    (DeepgramUtterances.safeParse(response.body).data?.results.utterances ?? []).map(
      ({ transcript, speaker, ...times }) => ({
        ...times,
        text: `${transcript} `,
        speaker: String(speaker ?? 0),
      }),
    ),
  );

const AssemblyUtterances = z.object({
  assemblyai: z.object({
    utterances: z.array(
      z.object({ start: z.number(), end: z.number(), text: z.string(), speaker: z.string() }),
    ),
  }),
});

const MS_PER_SECOND = 1000;

export const assemblyTurns = ({ providerMetadata }: TranscriptionResult): readonly Turn[] =>
  turnsOfWords(
    (AssemblyUtterances.safeParse(providerMetadata).data?.assemblyai.utterances ?? []).map((turn) => ({
      text: `${turn.text} `,
      speaker: turn.speaker,
      start: turn.start / MS_PER_SECOND,
      end: turn.end / MS_PER_SECOND,
    })),
  );
