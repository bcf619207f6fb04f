import { z } from 'zod';

/** How long a client secret can be used, in seconds. */
export const CLIENT_SECRET_SECONDS = { min: 10, max: 7200, usual: 600 } as const;

/** `POST /v1/realtime/client_secrets` */
export const ClientSecretRequest = z.looseObject({
  expires_after: z
    .looseObject({
      anchor: z.literal('created_at').optional(),
      seconds: z.int().min(CLIENT_SECRET_SECONDS.min).max(CLIENT_SECRET_SECONDS.max).optional(),
    })
    .optional(),
  session: z.looseObject({
    type: z.literal('realtime').optional(),
    model: z.string().min(1),
  }),
});
export type ClientSecretRequest = z.infer<typeof ClientSecretRequest>;
