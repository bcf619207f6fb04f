import { z } from 'zod';

/** A lane of a WebSocket, as its events name it. */
export const StreamId = z.string().regex(/^[A-Za-z0-9_.-]{1,256}$/);

/** The members of `response.create` that a body of `POST /v1/responses` does not have. */
export const ResponseCreateEvent = z.looseObject({
  type: z.literal('response.create'),
  stream_id: StreamId.nullish(),
  generate: z.boolean().nullish(),
  background: z.boolean().nullish(),
});
export type ResponseCreateEvent = z.infer<typeof ResponseCreateEvent>;

const SteeringPart = z.looseObject({ type: z.enum(['input_text', 'input_image', 'input_file']) });
const SteeringMessage = z.strictObject({
  type: z.literal('message').optional(),
  role: z.literal('user'),
  content: z.union([z.string(), z.array(SteeringPart)]),
});

/** Input for a response that is under way on the same WebSocket. */
export const ResponseSteerEvent = z.strictObject({
  type: z.literal('response.steer'),
  previous_response_id: z.string().min(1),
  input: z.union([z.string(), z.array(SteeringMessage).min(1)]),
});
export type ResponseSteerEvent = z.infer<typeof ResponseSteerEvent>;
