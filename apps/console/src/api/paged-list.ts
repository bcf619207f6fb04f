import { keepPreviousData } from '@tanstack/react-query';

/** How a list is loaded whose answers are pages that name the next one, and whose filter may change. */
export const PAGED_LIST = {
  initialPageParam: '',
  getNextPageParam: ({ next }: { readonly next: string | null }) => next,
  // Rows that the next filter selects too stay where somebody is about to click.
  placeholderData: keepPreviousData,
  // All pages that were scrolled through would be asked for again.
  refetchOnWindowFocus: false,
} as const;

/** What a list's page reads of its query, which loads all rows at once, or a page after the other. */
export interface LoadedList {
  readonly error: Error | null;
  readonly isPending: boolean;
  readonly isPlaceholderData: boolean;
  readonly isFetchingNextPage?: boolean;
  readonly hasNextPage?: boolean;
  readonly refetch: () => Promise<unknown>;
  readonly fetchNextPage?: () => Promise<unknown>;
}

/** Whether rows of the list are on their way: the first ones of its filter, or those of a next page. */
export const isLoading = ({
  isPending,
  isPlaceholderData,
  isFetchingNextPage = false,
}: Pick<LoadedList, 'isPending' | 'isPlaceholderData' | 'isFetchingNextPage'>): boolean =>
  isPending || isFetchingNextPage || isPlaceholderData;
