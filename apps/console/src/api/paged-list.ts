import { keepPreviousData, type UseInfiniteQueryResult } from '@tanstack/react-query';

/** How a list is loaded whose answers are pages that name the next one, and whose filter may change. */
export const PAGED_LIST = {
  initialPageParam: '',
  getNextPageParam: ({ next }: { readonly next: string | null }) => next,
  // Rows that the next filter selects too stay where somebody is about to click.
  placeholderData: keepPreviousData,
  // All pages that were scrolled through would be asked for again.
  refetchOnWindowFocus: false,
} as const;

/** Whether rows of the list are on their way: the first ones of its filter, or those of a next page. */
export const isLoading = (
  list: Pick<UseInfiniteQueryResult, 'isPending' | 'isFetchingNextPage' | 'isPlaceholderData'>,
): boolean => list.isPending || list.isFetchingNextPage || list.isPlaceholderData;
