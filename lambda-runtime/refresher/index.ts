export { refresherHandler } from './refresher-handler';
export type { RefresherAnswer, RefresherContext, RefresherHandler, RefresherOptions } from './refresher-handler';
