import { prebuiltRefresher } from './prebuilt-refresher';

/** The entry point of the prebuilt refresher's function. */
export const handler = prebuiltRefresher(process.env);
