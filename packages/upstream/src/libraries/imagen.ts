import type { ImageModelV4 } from '@ai-sdk/provider';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { z } from 'zod';
import type { LibrarySettings } from './library.ts';
import { AnsweredWithError } from './library-error.ts';
import { TaskRefused } from './library-fetch.ts';
import { nearestRatio } from './ratio.ts';

export const isImagen = (id: string): boolean => id.startsWith('imagen-');

const RATIOS = ['1:1', '3:4', '4:3', '9:16', '16:9'] as const;

const Predictions = z.object({
  predictions: z
    .array(z.object({ bytesBase64Encoded: z.string().optional(), raiFilteredReason: z.string().optional() }))
    .default([]),
});

/** Imagen's `:predict`, which Google's library for the Gemini API no longer has. */
export const imagen = (modelId: string, base: string, { fetch }: LibrarySettings): ImageModelV4 => ({
  specificationVersion: 'v4',
  provider: 'google.imagen',
  modelId,
  maxImagesPerCall: 4,
  async doGenerate({ prompt, n, aspectRatio, seed, files, abortSignal }) {
    if (files !== undefined && files.length > 0) throw new Error('Imagen edits no images.');
    const ratio = aspectRatio && nearestRatio(aspectRatio, RATIOS);
    // A watermark and a seed exclude each other.
    const seeded = seed === undefined ? {} : { seed, addWatermark: false };
    const parameters = { sampleCount: n, ...(ratio && { aspectRatio: ratio }), ...seeded };
    const reply = await fetch(`${base}/models/${encodeURIComponent(modelId)}:predict`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ instances: [{ prompt }], parameters }),
      ...(abortSignal && { signal: abortSignal }),
    });
    const text = await reply.text();
    if (!reply.ok) throw new AnsweredWithError(`answered ${reply.status}`, reply, text);
    const { predictions } = Predictions.parse(jsonIn(text));
    const images = predictions.flatMap(({ bytesBase64Encoded: bytes }) => bytes ?? []);
    const why = predictions.flatMap(({ raiFilteredReason }) => raiFilteredReason ?? [])[0];
    if (images.length === 0) throw new TaskRefused(why ?? 'Imagen made no image.', 'moderation_blocked');
    return {
      images,
      warnings: [],
      response: { timestamp: new Date(), modelId, headers: Object.fromEntries(reply.headers) },
    };
  },
});
