import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import type * as z from 'zod/mini';

type Search<Schema extends z.ZodMiniObject> = z.output<Schema>;
type Change<Schema extends z.ZodMiniObject> = {
  [Name in keyof Search<Schema>]?: Search<Schema>[Name] | undefined;
};

interface PageSearch<Schema extends z.ZodMiniObject> {
  readonly search: Search<Schema>;
  /** Changes the view; the browser's Back leads to the page before, not to each view of this one. */
  readonly change: (change: Change<Schema>) => void;
  /** Opens something above the page, which the browser's Back closes. */
  readonly open: (change: Change<Schema>) => void;
  /** Closes what the member of the search has opened. */
  readonly close: (name: keyof Search<Schema>) => void;
}

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Whether the entry before this one is the same page without what is open on it. */
    readonly isOpened?: boolean;
  }
}

/**
 * What the page's address says about its view, and how to change it: a colleague who gets the address sees the same. Each member of
 * the schema is optional, and catches values that it does not allow, since people edit addresses.
 */
export function usePageSearch<Schema extends z.ZodMiniObject>(schema: Schema): PageSearch<Schema> {
  const raw = useSearch({ strict: false });
  const search = useMemo(() => schema.parse(raw), [schema, raw]);
  const navigate = useNavigate();
  const { history } = useRouter();
  const change = useCallback(
    (changed: object) =>
      void navigate({ to: '.', search: (before: object) => ({ ...before, ...changed }), replace: true }),
    [navigate],
  );
  const open = useCallback(
    (changed: object) =>
      void navigate({
        to: '.',
        search: (before: object) => ({ ...before, ...changed }),
        state: { isOpened: true },
      }),
    [navigate],
  );
  const close = useCallback(
    (name: keyof Search<Schema>) => {
      if (history.location.state.isOpened === true) history.back();
      else change({ [name]: undefined });
    },
    [history, change],
  );
  return { search, change, open, close };
}
