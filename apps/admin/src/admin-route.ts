import type { Request } from 'express';

/** One call of the admin API. What `handle` throws becomes the error reply. */
export interface AdminRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With `{id}` for a segment of any value. */
  readonly path: string;
  readonly handle: (request: Request, parameters: Partial<Record<string, string>>) => Promise<AdminReply>;
}

export interface AdminReply {
  readonly status: number;
  /** Sent as JSON. */
  readonly body: unknown;
}
