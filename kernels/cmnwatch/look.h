/* Information about a mesh that only root can read, printed line by line. */
#ifndef CMNWATCH_LOOK_H
#define CMNWATCH_LOOK_H

/* Prints /proc/iomem and the maps of the arm_cmn driver if they exist and can be read. */
void look(void);

#endif
