import { Anchor } from '@mantine/core';
import { useSuspenseQuery } from '@tanstack/react-query';
import { defaultStringifySearch, useRouter } from '@tanstack/react-router';
import type { MouseEvent, ReactNode } from 'react';
import { sessionQuery } from '../../api/queries.ts';
import { isFor, PAGES } from '../../pages.ts';

interface PageLinkProps {
  /** The page's path, below `/console`. */
  readonly to: string;
  /** The view of it. */
  readonly search?: object;
  readonly size?: 'xs' | 'sm' | 'inherit';
  /** What it says to those who cannot see what stands around it. */
  readonly label?: string;
  /** `quiet`: in the colour of the text around it, as within a badge; `plain`: and without a line, as within a table. */
  readonly look?: 'link' | 'quiet' | 'plain';
  readonly children: ReactNode;
}

/** The address of a view of a page, below `/console`. */
export const hrefOf = (to: string, search: object): string => `${to}${defaultStringifySearch(search)}`;

/** A link to a view of a page; only its text where the page is not for the person's role. */
export function PageLink({ to, search = {}, size = 'sm', label, look = 'link', children }: PageLinkProps) {
  const router = useRouter();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const page = PAGES.find(({ path }) => to === path || to.startsWith(`${path}/`));
  if (page !== undefined && !isFor(session, page)) return children;
  const href = hrefOf(to, search);
  const open = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    void router.navigate({ href });
  };
  return (
    <Anchor
      href={`${router.basepath}${href}`}
      onClick={open}
      {...(size === 'inherit' ? { inherit: true } : { size })}
      aria-label={label}
      {...(look !== 'link' && { c: 'inherit', underline: look === 'quiet' ? 'always' : 'hover' })}
    >
      {children}
    </Anchor>
  );
}
