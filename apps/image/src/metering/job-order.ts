import type { ImageEditInput, ImageGenerationInput } from '@gateway/contracts/jobs';
import { z } from 'zod';
import { formValues } from '../form/form-values.ts';
import type { ImageOrder } from './image-order.ts';

/** They have been checked when the job was made. */
const Members = z.object({
  prompt: z.string().catch(''),
  n: z.number().nullish(),
  size: z.string().nullish(),
  quality: z.string().nullish(),
});

/** What decides the cost of a queued generation or edit. */
export const orderOfJob = (input: ImageGenerationInput | ImageEditInput): ImageOrder =>
  'parameters' in input
    ? { ...Members.parse(input.parameters), inputImages: 0 }
    : { ...Members.parse(formValues(input.fields)), inputImages: input.images.length };
